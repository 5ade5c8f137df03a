"""Helpers that scripts call."""

import json
import secrets
import string


def generate_id(length=8):
    alphabet = string.ascii_lowercase + string.digits
    return "".join(secrets.choice(alphabet) for _ in range(length))


def json_dumps_safer(value, **options):
    return json.dumps(value, default=str, **options)


def to_json(value):
    return value
