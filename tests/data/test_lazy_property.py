"""A kept property: computed once, and never waited for by threads that look at other objects."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from uncone.data.lazy_property import once


class Looked:
    def __init__(self, look=lambda: None):
        self.look = look
        self.times = 0

    @once
    def value(self):
        """What is seen."""
        self.times += 1
        self.look()
        return [1]


def test_it_is_computed_once_and_is_the_same_object():
    one, other = Looked(), Looked()
    assert one.value is one.value and one.times == 1
    assert one.value is not other.value
    assert Looked.value.__doc__ == "What is seen."


def test_a_failure_is_not_kept():
    one = Looked(look=lambda: 1 / 0)
    for times in (1, 2):
        with pytest.raises(ZeroDivisionError):
            one.value  # noqa: B018
        assert one.times == times
    one.look = lambda: None
    assert one.value == [1]


def test_two_objects_are_looked_at_side_by_side():
    """Both have to be inside at the same time: with one lock for the class neither would get on."""
    both = Barrier(2, timeout=60)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda one: one.value, [Looked(both.wait), Looked(both.wait)]))
    assert found == [[1], [1]]
