"""When a request has arrived: in whatever pieces it comes, and what is not waited for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.wire import MAX_BODY_BYTES, PATH_NETWORKS, PATH_START_POSITIONS, ErrorAnswer, ErrorCode
from server.arrival import MAX_HEAD_BYTES, Arrival, Next, Refusal


def request(*headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join(["POST /api/ HTTP/1.1", "Host: here", *headers, "", ""]).encode("latin-1") + body


def first_answer(data: bytes, cuts: list[int]) -> tuple[Next | Refusal, int]:
    """What is said last, and after how many bytes."""
    arrival, said, taken = Arrival(), Next.WAIT, 0
    for start, end in pairwise([0, *sorted(cut % len(data) for cut in cuts), len(data)]):
        now = arrival.add(data[start:end])
        taken = end
        if now is Next.ANSWER or isinstance(now, Refusal):
            return now, taken
        said = now
    return said, taken


@given(st.binary(max_size=300), st.binary(max_size=20), st.lists(st.integers(min_value=0), max_size=20))
def test_a_request_is_whole_with_its_last_byte_however_it_is_cut(body: bytes, more: bytes, cuts: list[int]) -> None:
    data = request(f"Content-Length: {len(body)}", body=body)
    assert first_answer(data, cuts) == (Next.ANSWER, len(data))
    assert first_answer(data[:-1], cuts)[0] in (Next.WAIT, Next.CONTINUE)
    arrival = Arrival()
    assert arrival.add(data + more) is Next.ANSWER
    assert bytes(arrival.data) == data + more


@given(st.lists(st.integers(min_value=0), max_size=20))
def test_without_a_body_the_head_is_all(cuts: list[int]) -> None:
    data = request("Accept: */*")
    assert first_answer(data, cuts) == (Next.ANSWER, len(data))


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: -1"],
        ["Content-Length: +5"],
        ["Content-Length: five"],
        ["Content-Length:"],
        ["no header at all"],
        ["Content-Length : 5"],
    ],
)
def test_what_is_malformed_is_left_to_the_parser_at_once(headers: list[str]) -> None:
    assert Arrival().add(request(*headers)) is Next.ANSWER


@pytest.mark.parametrize("length", [MAX_BODY_BYTES + 1, 10**12, "9" * 8000])
def test_a_body_above_the_limit_is_refused_by_its_head_with_the_words_that_stop_clients(length: int | str) -> None:
    refused = Arrival().add(request(f"Content-Length: {length}"))
    assert isinstance(refused, Refusal)
    head, _, body = refused.to_bytes().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert f"Content-Length: {len(body)}".encode() in head
    told = ErrorAnswer.from_json(body)
    assert told.code == ErrorCode.DROP_GAME
    assert "no longer enabled" in told.detail


def test_the_largest_body_is_waited_for() -> None:
    assert Arrival().add(request(f"content-length: 000{MAX_BODY_BYTES}")) is Next.WAIT


def upload(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: here", *headers, "", ""]).encode("latin-1")


@pytest.mark.parametrize("path", [PATH_NETWORKS, PATH_START_POSITIONS, f"{PATH_NETWORKS}?x=1"])
def test_what_maintainers_bring_is_answered_by_its_head(path: str) -> None:
    large = f"Content-Length: {100 * MAX_BODY_BYTES}"
    assert Arrival().add(upload(path, large, "Authorization: Basic x") + b"begun") is Next.ANSWER
    arrival = Arrival()
    arrival.add(upload(path, "Connection: keep-alive", large, "Authorization: Basic x") + b"begun")
    head, _, body = bytes(arrival.data).partition(b"\r\n\r\n")
    assert head.endswith(b"\r\nConnection: close"), "what is refused unread is not taken for the next request"
    assert head.count(b"Connection") == 1
    assert body == b"begun"
    assert isinstance(Arrival().add(upload(path, large)), Refusal), "without a login it is as any other"
    assert isinstance(Arrival().add(upload(f"/x{path}", large, "Authorization: Basic x")), Refusal)
    assert isinstance(Arrival().add(upload(path, large, "Authorization: x", "Transfer-Encoding: chunked")), Refusal)
    got = upload(path, large, "Authorization: Basic x").replace(b"POST", b"GET", 1)
    assert isinstance(Arrival().add(got), Refusal)


def chunked(body: bytes, sizes: list[int], trailers: str = "") -> bytes:
    framed, begin = b"", 0
    for size in [*sizes, len(body)]:
        if chunk := body[begin : begin + size]:
            framed += b"%X ;name=value\r\n" % len(chunk) + chunk + b"\r\n"
        begin += size
    return framed + b"0\r\n" + trailers.encode() + b"\r\n"


CHUNKED = "Transfer-Encoding: Chunked"


@given(
    st.binary(max_size=300),
    st.binary(max_size=20),
    st.lists(st.integers(min_value=1, max_value=99), max_size=9),
    st.sampled_from(["", "Digest: none\r\n"]),
    st.lists(st.integers(min_value=0), max_size=20),
)
def test_chunks_become_a_body_with_a_length(
    body: bytes, more: bytes, sizes: list[int], trailers: str, cuts: list[int]
) -> None:
    data = request(CHUNKED, "Accept: */*", body=chunked(body, sizes, trailers))
    assert first_answer(data, cuts) == (Next.ANSWER, len(data))
    assert first_answer(data[:-1], cuts)[0] is Next.WAIT
    arrival = Arrival()
    assert arrival.add(data + more) is Next.ANSWER
    assert bytes(arrival.data) == request("Accept: */*", f"Content-Length: {len(body)}", body=body) + more


def test_chunks_are_waited_for_up_to_the_largest_body() -> None:
    arrival = Arrival()
    assert arrival.add(request(CHUNKED, "Expect: 100-continue")) is Next.CONTINUE
    assert arrival.add(b"%X\r\n" % MAX_BODY_BYTES + b"x" * MAX_BODY_BYTES + b"\r\n") is Next.WAIT
    assert MAX_BODY_BYTES < arrival.waiting_bytes() < MAX_BODY_BYTES + 1000
    refused = arrival.add(b"1\r\n")
    assert isinstance(refused, Refusal)
    assert ErrorAnswer.from_json(refused.body).code == ErrorCode.DROP_GAME


@pytest.mark.parametrize(
    "body",
    [
        *(b"x\r\n", b"\r\n", b"-1\r\n", b"0x5\r\n", b"123456789\r\n", b"5;" + b"x" * 300),
        *(b"3\r\nabcd\r\n", b"3\nabc\n", b"0\r\n" + b"X: y\r\n" * 33),
    ],
)
def test_malformed_chunks_are_refused(body: bytes) -> None:
    refused = Arrival().add(request(CHUNKED, body=body + b" " * 300))
    assert isinstance(refused, Refusal)
    assert refused.status == 400
    assert ErrorAnswer.from_json(refused.body).code == ErrorCode.RETRY


def test_chunks_of_http_1_0_are_not_taken() -> None:
    refused = Arrival().add(request(CHUNKED).replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert isinstance(refused, Refusal)
    assert refused.status == 411


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Transfer-Encoding: gzip, chunked", 411),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 411),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", 411),
        ("X: " + "x" * MAX_HEAD_BYTES, 431),
    ],
)
def test_other_refusals_say_why(header: str, status: int) -> None:
    data = request(header)[:-4] if status == 431 else request(header)
    refused = Arrival().add(data)
    assert isinstance(refused, Refusal)
    assert refused.status == status
    assert ErrorAnswer.from_json(refused.body).code == ErrorCode.RETRY


def test_a_client_that_waits_to_be_asked_for_the_body_is_asked_once() -> None:
    arrival = Arrival()
    assert arrival.add(request("Expect: 100-Continue", "Content-Length: 2")) is Next.CONTINUE
    assert arrival.add(b"a") is Next.WAIT
    assert arrival.add(b"b") is Next.ANSWER
