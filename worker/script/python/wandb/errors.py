"""The errors of the package."""


class Error(Exception):
    """What scripts catch."""

    def __init__(self, message="", context=None):
        super().__init__(message)
        self.message = message


class CommError(Error):
    """There is no server to ask."""


class UsageError(Error):
    """A call that makes no sense."""


class AuthenticationError(CommError):
    """Never raised: there is no account."""
