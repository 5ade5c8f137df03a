"""The key and certificate of one connection, made anew by each process."""

import os
import subprocess
import tempfile


def make(folder):
    """Writes key and certificate, of localhost and for ten days, and returns their paths
    and the certificate in DER."""
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
    try:
        _by_package(key, certificate)
    except ImportError:
        _by_program(folder, key, certificate)
    import ssl

    with open(certificate, encoding="ascii") as f:
        return key, certificate, ssl.PEM_cert_to_DER_cert(f.read())


def _by_package(key_path, certificate_path):
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.utcnow()
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5)).not_valid_after(now + datetime.timedelta(days=365))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .add_extension(x509.BasicConstraints(True, None), True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), False)
        .sign(key, hashes.SHA256())
    )
    _write(key_path, key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    _write(certificate_path, certificate.public_bytes(serialization.Encoding.PEM))


def _write(path, content):
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
        f.write(content)


def _by_program(folder, key, certificate):
    try:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "365",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-addext", "extendedKeyUsage=serverAuth,clientAuth",
             "-keyout", key, "-out", certificate],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
        )
    except FileNotFoundError:
        raise SystemExit("a trainer in Python needs the package cryptography or the program openssl for its key") from None
    except subprocess.CalledProcessError as problem:
        raise SystemExit("openssl: %s" % problem.output.decode("utf-8", "replace")) from None
