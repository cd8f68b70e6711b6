"""Batches side by side: whoever is faster, every layer meets them in their order."""

from __future__ import annotations

import threading
import time

import pytest

from uncone.backends.turns import Turns


def test_every_layer_meets_the_jobs_in_their_order():
    met = [[], []]
    with Turns(2) as turns:
        for _ in range(20):

            def job(number):
                time.sleep(0.003 if number % 3 == 0 else 0)  # the slow ones would be overtaken
                for layer in (0, 1):
                    with turns.at(layer, number):
                        met[layer].append(number)

            turns.give(job)
        turns.finish()
    assert met == [list(range(20))] * 2


def test_jobs_run_side_by_side():
    both = threading.Barrier(2, timeout=5)

    def job(number):
        both.wait()
        with turns.at(0, number):
            pass

    with Turns(1) as turns:
        if turns.threads < 2:
            pytest.skip("one core")
        turns.give(job)
        turns.give(job)
        turns.finish()


@pytest.mark.parametrize("failing", [0, 1, 4])
def test_the_first_failure_is_shown_and_nothing_after_it_is_measured(failing):
    met = []

    def job(number):
        if number == failing:
            raise ZeroDivisionError(number)
        if number == failing - 1:
            time.sleep(0.02)  # the failure comes first, and must not stop what stands before it
        with turns.at(0, number):
            met.append(number)

    with pytest.raises(ZeroDivisionError, match=str(failing)), Turns(1) as turns:
        for _ in range(6):
            turns.give(job)
        turns.finish()
    assert met == list(range(failing))


def test_an_interrupt_releases_who_waits():
    def job(number):
        with turns.at(0, number + 1):  # a turn that never comes
            raise AssertionError

    with pytest.raises(KeyboardInterrupt), Turns(1) as turns:
        turns.give(job)
        raise KeyboardInterrupt
    assert not any(
        thread.name.startswith("ThreadPoolExecutor") and thread.is_alive() for thread in turns._pool._threads
    )


def test_torch_gets_its_cores_back():
    torch = pytest.importorskip("torch")
    before, seen = torch.get_num_threads(), []
    with Turns(1) as turns:
        turns.give(lambda number: seen.append(torch.get_num_threads()))
        turns.finish()
    assert torch.get_num_threads() == before
    assert seen == [max(before // turns.threads, 1)]
