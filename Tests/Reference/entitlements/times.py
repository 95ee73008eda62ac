"""Instants as UNIX milliseconds, sets of periods, and durations of the calendar."""

import calendar
import datetime
import re

EPOCH = datetime.datetime(1970, 1, 1)
DAY = 86_400_000
# The last millisecond of the year 9999: nothing is later.
LATEST = 253_402_300_799_999


def instant(text):
    """`2026-01-31`, or with a time in UTC and three digits of a second."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.(\d{3}))?Z)?", text)
    if match is None:
        raise ValueError(f"no date: {text}")
    day, time, fraction = match.groups()
    moment = datetime.datetime.fromisoformat(f"{day}T{time or '00:00:00'}")
    seconds = (moment - EPOCH) // datetime.timedelta(seconds=1)
    return seconds * 1000 + int(fraction or 0)


def text(milliseconds):
    """The shortest text that `instant` reads."""
    moment = EPOCH + datetime.timedelta(milliseconds=milliseconds)
    if milliseconds % DAY == 0:
        return moment.strftime("%Y-%m-%d")
    if milliseconds % 1000 == 0:
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}Z"


def united(periods):
    """Periods (start, end or None) as an ascending list of which none is empty or touches another."""
    result = []
    for start, end in sorted(periods, key=lambda period: period[0]):
        if end is not None and end <= start:
            continue
        if result and (result[-1][1] is None or start <= result[-1][1]):
            last = result[-1]
            result[-1] = (last[0], None if None in (last[1], end) else max(last[1], end))
        else:
            result.append((start, end))
    return result


def clipped(period, begin, until):
    """The part of a period at or after `begin` and before `until`; None bounds nothing."""
    start, end = period
    if begin is not None:
        start = max(start, begin)
    if until is not None:
        end = until if end is None else min(end, until)
    return (start, end)


def later(start, duration, times):
    """The instant that many ISO 8601 durations (`P1Y2M3W4D`) later; a missing day is the last one."""
    amounts = {unit: int(number) for number, unit in re.findall(r"(\d+)([YMWD])", duration)}
    months = (amounts.get("Y", 0) * 12 + amounts.get("M", 0)) * times
    days = (amounts.get("W", 0) * 7 + amounts.get("D", 0)) * times
    moment = EPOCH + datetime.timedelta(milliseconds=start)
    count = moment.year * 12 + moment.month - 1 + months
    year, month = count // 12, count % 12 + 1
    if year > 9999:
        return LATEST
    day = min(moment.day, calendar.monthrange(year, month)[1])
    try:
        moved = moment.replace(year=year, month=month, day=day) + datetime.timedelta(days=days)
    except OverflowError:
        return LATEST
    return (moved - EPOCH) // datetime.timedelta(milliseconds=1)
