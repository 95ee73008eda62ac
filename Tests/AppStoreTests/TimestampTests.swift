import AppStore
import OpenSSL
import Testing

struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", Int64(0)), ("2026-01-31T12:34:56.789Z", 1_769_862_896_789),
        ("2024-02-29T23:59:59.999Z", 1_709_251_199_999), ("0001-01-01T00:00:00Z", -62_135_596_800_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999), ("1969-12-31T23:59:59.999Z", -1),
        ("1900-03-01T00:00:00Z", -2_203_891_200_000),
    ]) func `a date reads and writes as ISO 8601`(text: String, milliseconds: Int64) {
        #expect(Timestamp(iso8601: text) == Timestamp(milliseconds: milliseconds))
        #expect(Timestamp(milliseconds: milliseconds).description == text)
    }

    @Test(arguments: [
        (Int64.min, Timestamp.earliest), (.min + 1, .earliest), (.max, .latest), (-62_135_596_800_001, .earliest),
        (253_402_300_800_000, .latest),
    ]) func `a time outside the years 1 to 9999 becomes the nearest of them`(milliseconds: Int64, nearest: Timestamp) {
        let timestamp = Timestamp(milliseconds: milliseconds)
        #expect(timestamp == nearest && timestamp.description == nearest.description)
        #expect(Timestamp(iso8601: timestamp.description) == nearest)
        #expect(Timestamp(boundedMilliseconds: milliseconds) == nil)
    }

    @Test(arguments: [
        "", "2026", "2026-02-29", "2026-13-01", "2026-00-01", "2026-01-32", "0000-01-01", "2026-01-01T00:00:00",
        "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00.1Z",
        "2026-01-01T00:00:00+01:00", "+026-01-01",
    ]) func `other forms are refused`(text: String) { #expect(Timestamp(iso8601: text) == nil) }

    @Test(arguments: [
        ("2020-07-22T17:33:15Z", Int64(1_595_439_195_000)), ("2020-07-22t17:33:15z", 1_595_439_195_000),
        ("2020-07-22T18:33:15+0100", 1_595_439_195_000), ("2020-07-22T18:33:15+01:00", 1_595_439_195_000),
        ("2020-07-22T12:03:15-05:30", 1_595_439_195_000), ("2020-07-22T17:33:15.1Z", 1_595_439_195_100),
        ("2020-07-22T17:33:15.0009999Z", 1_595_439_195_000), ("4001-01-01T00:00:00Z", 64_092_211_200_000),
    ]) func `a receipt's date reads as RFC 3339`(text: String, milliseconds: Int64) {
        let date = Timestamp(rfc3339: Array(text.utf8))
        #expect(date == Timestamp(milliseconds: milliseconds))
    }

    @Test(arguments: [
        "", "Z", "2020-07-22", "2020-07-22T17:33Z", "2020-07-22T17:33:15", "2020-07-22 17:33:15Z",
        "2020-07-22T17:33:15.Z", "2020-07-22T17:33:15.aZ", "2020-07-22T17:33:15ZZ", "2020-07-22T17:33:15+1",
        "2020-07-22T17:33:15+01", "2020-07-22T17:33:15+24:00", "2020-07-22T17:33:15+01:60", "2020-07-22T17:33:60Z",
        "2020-13-22T17:33:15Z", "2020-07-22T17:33:15+01-00", "2020-07-22T17:33:15é", "9999-12-31T23:59:59-01:00",
        "0001-01-01T00:00:00+00:01",
    ]) func `other forms are not dates of a receipt`(text: String) {
        #expect(Timestamp(rfc3339: Array(text.utf8)) == nil)
    }

    @Test func `a day alone means its first instant`() {
        #expect(Timestamp(iso8601: "1970-01-02") == Timestamp(milliseconds: 86_400_000))
    }

    @Test(arguments: [(Int64(1999), Int64(1)), (0, 0), (-1, -1), (-1000, -1), (-1001, -2)])
    func `whole seconds round down`(milliseconds: Int64, seconds: Int64) {
        #expect(Timestamp(milliseconds: milliseconds).wholeSeconds == seconds)
    }

    @Test func `every day of four centuries converts there and back`() {
        for days in -40_000...110_000 { #expect(CivilDate(daysSinceEpoch: days).daysSinceEpoch == days) }
    }
}
