"""Writes how each test ended, one JSON object a line, into the file that SUITE_REPORT names.

It is a plugin of pytest (`-p report`), and has the runner that Django's suite is given (`report.Runner`). What ended is
told by the hooks of both, never by their printed output. The line of a test has its name, `passed`, `failed` or
`skipped`, and a line of what went wrong. What SUITE_WITHOUT (a regular expression) finds in a name is left out of it, so that
a test has one name on every server.
"""

import json
import os
import re


def _line(told):
    with open(os.environ["SUITE_REPORT"], "a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


def _write(test, outcome, why=""):
    without = os.environ.get("SUITE_WITHOUT")
    if without:
        test = re.sub(without, "", test)
    _line({"test": test, "outcome": outcome, "why": why[:300]})


# pytest: a test has up to three reports, and failed where one of them has.


def pytest_runtest_logreport(report):
    if report.passed and report.when != "call":
        return
    # An error after the test is told too: the last line of a test counts, and a failure always.
    outcome = "passed" if report.passed else "skipped" if report.skipped else "failed"
    crash = getattr(report.longrepr, "reprcrash", None)
    why = crash.message if crash is not None else str(report.longrepr or "").strip()
    lines = [line for line in why.strip().splitlines() if line.strip()]
    last = lines[0] if crash is not None and lines else lines[-1] if lines else ""
    _write(report.nodeid, outcome, last if outcome == "failed" else "")


def pytest_collectreport(report):
    if report.failed:
        _write(report.nodeid or "collection", "failed", str(report.longrepr).strip().splitlines()[-1])


def pytest_sessionfinish(session, exitstatus):
    # 0 and 1: all tests were run. Anything else broke off.
    if exitstatus in (0, 1):
        _line({"over": True})


def _django():
    import unittest

    from django.test.runner import DiscoverRunner

    def last(err):
        text = str(err[1]).strip().splitlines()
        return f"{err[0].__name__}: {text[0] if text else ''}"

    class Result(unittest.TextTestResult):
        def addSuccess(self, test):
            super().addSuccess(test)
            _write(test.id(), "passed")

        def addError(self, test, err):
            super().addError(test, err)
            _write(test.id(), "failed", last(err))

        def addFailure(self, test, err):
            super().addFailure(test, err)
            _write(test.id(), "failed", last(err))

        def addSubTest(self, test, subtest, err):
            super().addSubTest(test, subtest, err)
            if err is not None:
                _write(test.id(), "failed", last(err))

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            _write(test.id(), "skipped")

        def addExpectedFailure(self, test, err):
            super().addExpectedFailure(test, err)
            _write(test.id(), "skipped")

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            _write(test.id(), "failed", "it passes, and the suite says that it must fail")

    class Runner(DiscoverRunner):
        def get_resultclass(self):
            return Result

        def run_suite(self, suite, **kwargs):
            result = super().run_suite(suite, **kwargs)
            _line({"over": True})
            return result

    return Runner


def __getattr__(name):
    # Django is imported where its suite asks for the runner only.
    if name == "Runner":
        return _django()
    raise AttributeError(name)
