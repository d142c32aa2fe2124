"""Where the server is that a program talks to, as the harness says it."""
import os
import sys
import traceback

HOST = os.environ["CLIENTS_HOST"]
PORT = int(os.environ["CLIENTS_PORT"])
USER = os.environ["CLIENTS_USER"]
PASSWORD = os.environ["CLIENTS_PASSWORD"]
DATABASE = os.environ["CLIENTS_DATABASE"]


def url(driver):
    return f"{driver}://{USER}:{PASSWORD}@{HOST}:{PORT}/{DATABASE}"


def raises(kind, work):
    """`work` must raise exactly this kind of error."""
    try:
        work()
    except kind as e:
        return e
    raise AssertionError(f"{kind.__name__} was not raised")


def ended(kind, error, trace):
    """The last line of the output says what went wrong."""
    traceback.print_exception(kind, error, trace)
    text = " ".join(str(error).split()) or traceback.extract_tb(trace)[-1].line
    print(f"{kind.__name__}: {text}", file=sys.stderr)


sys.excepthook = ended
