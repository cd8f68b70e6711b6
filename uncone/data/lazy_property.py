"""Lazy properties: computed at first use, then stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["once"]

T = TypeVar("T")


class once(Generic[T]):
    """Like `functools.cached_property`, without its lock.

    Until Python 3.12 that lock is one for all objects of a class, held while the value is computed: two threads that
    measure two batches, or examine two layers, would wait for each other. Two threads that ask the same object at the
    same time may both compute the value; so it has to follow from the object alone.

    >>> class Square:
    ...     def __init__(self, side: float) -> None:
    ...         self.side = side
    ...
    ...     @once
    ...     def area(self) -> float:
    ...         print("computed")
    ...         return self.side**2
    >>> square = Square(3.0)
    >>> square.area, square.area
    computed
    (9.0, 9.0)
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> once[T] | T:
        if instance is None:
            return self
        # There is no __set__: from now on Python finds the value in the object, and does not come here again.
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
