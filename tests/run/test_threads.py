"""Threads: every layer gets the batches in their order, whichever is faster, and BLAS uses one thread in each."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time

import pytest
from threadpoolctl import threadpool_info

from uncone.run.threads import Turns, cores, in_order, on_all_cores, one_blas_thread


@pytest.mark.parametrize("slow", [1, 2, 3, 5])
def test_every_layer_meets_the_jobs_in_their_order(slow):
    met = [[], []]
    with Turns(2) as turns:
        for number in range(20):

            def job(number=number):
                time.sleep(0.003 if number % slow == 0 else 0)  # the slow ones would be overtaken
                return [lambda: met[0].append(number), lambda: met[1].append(number)]

            turns.give(job)
        turns.finish()
    assert met == [list(range(20))] * 2


def test_jobs_run_side_by_side():
    both = threading.Barrier(2, timeout=60)

    def job():
        both.wait()
        return [lambda: None]

    with Turns(1) as turns:
        if turns.threads < 2:
            pytest.skip("one core")
        turns.give(job)
        turns.give(job)
        turns.finish()


def test_who_is_ahead_does_not_wait_but_takes_the_next():
    """The first batch is encoded only when the third has been: its thread finds the others left to it."""
    third, met = threading.Event(), []

    def job(number):
        if number == 0:
            assert third.wait(60)
        if number == 2:
            third.set()
        return [lambda: met.append(number)]

    with Turns(1) as turns:
        if turns.threads < 2:
            pytest.skip("one core")
        for number in range(3):
            turns.give(lambda number=number: job(number))
        turns.finish()
    assert met == [0, 1, 2]


@pytest.mark.parametrize("failing", [0, 1, 4])
@pytest.mark.parametrize("at_layer", [None, 0, 1])
def test_the_first_failure_is_shown_and_nothing_after_it_is_measured(failing, at_layer):
    met = [[], []]

    def fail(number):
        raise ZeroDivisionError(number)

    def job(number):
        if number >= failing and at_layer is None:
            fail(number)
        if number == failing - 1:
            time.sleep(0.02)  # the failure comes first, and must not stop what stands before it
        steps = [lambda: met[0].append(number), lambda: met[1].append(number)]
        if number >= failing and at_layer is not None:
            steps[at_layer] = lambda: fail(number)
        return steps

    with pytest.raises(ZeroDivisionError, match=str(failing)), Turns(2) as turns:
        for number in range(6):
            turns.give(lambda number=number: job(number))
        turns.finish()
    assert met[1] == list(range(failing))
    assert met[0][:failing] == list(range(failing))
    assert at_layer == 1 or len(met[0]) == failing


def test_an_interrupt_lets_go_of_what_is_left():
    met, started = [], threading.Event()

    def job():
        started.set()
        until = time.monotonic() + 60
        while turns._failed > 0 and time.monotonic() < until:  # until the interrupt has come
            time.sleep(0.001)
        return [lambda: met.append(0)]

    with pytest.raises(KeyboardInterrupt), Turns(1) as turns:
        turns.give(job)
        turns.give(job)
        assert started.wait(60)
        raise KeyboardInterrupt
    assert not met
    assert not any(thread.is_alive() for thread in turns._pool._threads)


def test_torch_gets_its_cores_back():
    torch = pytest.importorskip("torch")
    before, seen = torch.get_num_threads(), []
    with Turns(1) as turns:
        turns.give(lambda: [lambda: seen.append(torch.get_num_threads())])
        turns.finish()
    assert torch.get_num_threads() == before
    assert seen == [max(before // turns.threads, 1)]


def blas_threads():
    """Of numpy's and scipy's BLAS; one that is threaded by OpenMP counts for each thread apart."""
    found = [one for one in threadpool_info() if one["user_api"] == "blas"]
    return [one["num_threads"] for one in found if one.get("threading_layer") == "pthreads"]


def test_every_core_has_a_thread_and_every_thread_one_of_blas():
    before = blas_threads()
    with on_all_cores() as threads:
        assert threads._max_workers == cores() == len(os.sched_getaffinity(0))
        assert set(blas_threads()) == set(threads.submit(blas_threads).result()) == {1}
    assert blas_threads() == before


def test_a_library_that_is_loaded_later_is_limited_too():
    code = (
        "from uncone.run.threads import one_blas_thread\n"
        "from threadpoolctl import threadpool_info\n"
        "with one_blas_thread(): pass\n"
        "few = len(threadpool_info())\n"
        "import scipy.linalg\n"
        "assert len(threadpool_info()) > few\n"
        "with one_blas_thread():\n"
        "    print({one['num_threads'] for one in threadpool_info() if one['user_api'] == 'blas'})\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.strip() == "{1}"


def test_limits_may_be_nested():
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}


def test_results_come_in_the_order_of_the_tasks_and_few_are_under_way():
    running, most = [], []

    def work(n):
        running.append(n)
        most.append(len(running))
        time.sleep(0.01 if n % 2 else 0.0)
        running.remove(n)
        return n

    assert list(in_order(work, range(40))) == list(range(40))
    assert max(most) <= cores()
    begun = []
    results = in_order(lambda n: begun.append(n) or n, itertools.count(), at_once=2)
    assert [next(results) for _ in range(5)] == list(range(5))
    results.close()
    assert len(begun) <= 7, "tasks without end are begun only as they are asked for"
