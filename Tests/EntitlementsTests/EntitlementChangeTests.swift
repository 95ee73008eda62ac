import AppStore
import Testing

@testable import Entitlements

struct EntitlementChangeTests {
    private static let period = PeriodSet([Period(start: Sample.date("2026-01-01"), end: Sample.date("2026-02-01"))])
    private static let longer = PeriodSet([Period(start: Sample.date("2026-01-01"), end: Sample.date("2026-03-01"))])

    @Test func `equal rows make no change`() {
        let rows = [EntitlementRow(key: "pro", userID: "anna", periods: Self.period)]
        #expect(EntitlementChange.changes(from: rows, to: rows).isEmpty)
        #expect(EntitlementChange.changes(from: [], to: []).isEmpty)
    }

    @Test func `another number of seats is a change of the same periods`() {
        let old = EntitlementRow(key: "pro", userID: "anna", periods: Self.period)
        var new = old
        new.terms.seats = 5
        #expect(
            EntitlementChange.changes(from: [old], to: [new]) == [
                EntitlementChange(
                    key: "pro", userID: "anna", old: Self.period, new: Self.period, newTerms: EntitlementTerms(seats: 5)
                )
            ])
    }

    @Test func `rows that come, go and differ are changes`() {
        let old = [
            EntitlementRow(key: "pro", userID: "anna", periods: Self.period),
            EntitlementRow(key: "plus", userID: "anna", periods: Self.period),
        ]
        let new = [
            EntitlementRow(key: "plus", userID: "anna", periods: Self.longer),
            EntitlementRow(key: "pro", userID: "ben", periods: Self.period),
        ]
        let none = PeriodSet()
        #expect(
            EntitlementChange.changes(from: old, to: new) == [
                EntitlementChange(key: "plus", userID: "anna", old: Self.period, new: Self.longer),
                EntitlementChange(key: "pro", userID: "anna", old: Self.period, new: none),
                EntitlementChange(key: "pro", userID: "ben", old: none, new: Self.period, formerUserID: "anna"),
            ])
    }
}
