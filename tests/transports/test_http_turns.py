"""Whose turn it is: a flood of one holder waits, and what others ask for is done at once."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from satchel.transports.http.messages import Refusal
from satchel.transports.http.shares import Shares
from satchel.transports.http.turns import Company, Metered, Turns
from satchel.work import Work
from tests.support.process import eventually

HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nauthorization: bearer %s\r\n\r\n"


async def until(is_done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_done():
            await asyncio.sleep(0)


def test_a_holder_who_is_alone_waits_for_nothing() -> None:
    turns, done = Turns(), []
    turns.used("address a", 10.0)
    assert turns.take("address a", lambda: done.append(1)) and done == [1]


def test_while_a_user_is_about_a_flood_waits_and_the_user_does_not() -> None:
    async def run() -> None:
        turns, done = Turns(), []
        ada = turns.identify(b"secret", "ada")
        turns.used("address a", 0.01)
        for number in range(5):
            assert not turns.take("address a", lambda number=number: done.append(number))  # type: ignore[misc]
        assert turns.take(ada, lambda: done.append("ada"))
        assert done == ["ada"]
        await until(lambda: len(done) == 6)
        assert done == ["ada", 0, 1, 2, 3, 4]

    asyncio.run(run())


def test_what_follows_goes_before_what_waits_and_never_in_the_same_round() -> None:
    async def run() -> None:
        turns, done = Turns(), []
        turns.identify(b"secret", "ada")
        turns.used("address a", 0.01)
        assert not turns.take("address a", lambda: done.append("waits"))
        turns.follow("address a", lambda: done.append("follows"))
        assert done == []
        await until(lambda: len(done) == 2)
        assert done == ["follows", "waits"]

    asyncio.run(run())


def fail() -> None:
    raise ValueError


def test_what_fails_does_not_stop_what_waits_behind_it() -> None:
    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        turns, done = Turns(), []
        turns.identify(b"secret", "ada")
        turns.used("address a", 0.01)
        turns.take("address a", fail)
        turns.take("address a", lambda: done.append(1))
        await until(lambda: done == [1])

    asyncio.run(run())


def test_a_token_that_was_valid_tells_the_user_and_any_other_the_address() -> None:
    turns = Turns()
    assert turns.find_holder(HEAD % b"secret", "::1") == "address ::1"
    turns.identify(b"secret", "ada")
    assert turns.find_holder(HEAD % b"secret", "::1") == "user ada"
    assert turns.find_holder(HEAD % b"secret2", "::1") == "address ::1"
    assert turns.find_holder(b"GET /health HTTP/1.1\r\n", "::1") == "probes"


def test_company_is_another_user_than_oneself() -> None:
    company = Company()
    company.saw("ada")
    assert not company.of("ada") and company.of("eve")
    company.saw("eve")
    assert company.of("ada") and company.of("eve")


def test_a_metered_coroutine_does_what_it_did_before() -> None:
    noted: list[float] = []

    async def work(outcome: Any) -> None:
        await asyncio.sleep(0)
        if isinstance(outcome, BaseException):
            raise outcome
        await asyncio.sleep(outcome)

    async def run(outcome: Any) -> None:
        await Metered(work(outcome), noted.append)

    asyncio.run(run(0))
    with pytest.raises(KeyError):
        asyncio.run(run(KeyError()))
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(run(600), 0.01))
    assert len(noted) > 6


@pytest.mark.parametrize("has_company", [False, True])
def test_a_user_who_computes_all_the_time_rests_while_others_are_about(*, has_company: bool) -> None:
    def compute() -> None:
        assert eventually(lambda: sum(range(2_000_000)) > 0)

    async def run() -> None:
        shares, releases = Shares(threads=2, share=1), []
        loop = asyncio.get_running_loop()
        shares.saw("eve")
        if has_company:
            shares.saw("ada")
        later = loop.call_later
        loop.call_later = lambda delay, *more: releases.append(delay) or later(0, *more)  # type: ignore[method-assign,func-returns-value]
        await shares.run(Work("eve"), compute)
        await shares.run(Work("eve"), compute)
        assert bool(releases) == has_company
        shares.close()

    asyncio.run(run())


def test_the_calls_of_a_user_rest_together_whatever_they_do() -> None:
    def compute() -> None:
        assert eventually(lambda: sum(range(2_000_000)) > 0)

    async def run() -> None:
        shares, noted = Shares(threads=4, share=1), []
        shares.saw("eve")
        shares.saw("ada")
        await shares.run(Work("eve"), compute, "writes", noted.append)
        assert noted and noted[0] > 0
        reading = asyncio.create_task(shares.run(Work("eve"), lambda: "read", "reads"))
        assert await shares.run(Work("ada"), lambda: "at once") == "at once"
        assert not reading.done()
        assert await reading == "read"
        shares.close()
        with pytest.raises(Refusal, match="The server ends"):
            await shares.run(Work("ada"), compute)

    asyncio.run(run())
