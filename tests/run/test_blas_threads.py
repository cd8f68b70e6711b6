import itertools
import os
import subprocess
import sys
import time

from threadpoolctl import threadpool_info

from uncone.run.threads import cores, in_order, on_all_cores, one_blas_thread


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
