import AppStore
import Commands
import Testing

@testable import Operations
@testable import Store

/// The verdict of `pipeline reconcile --with-apple`.
@Suite struct AppleAccountTests {
    private static let app = RecoveredApp(environment: .production, bundleID: "com.example.app")
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    private static func hours(_ hours: Int64) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds - hours * 3_600_000)
    }

    /// - Parameter read: the hours before now over which the list was read; nil for none.
    private static func account(
        read: ClosedRange<Int64>?, missing: Int64 = 0, onItsWay: Int64 = 0, unreadable: Int64 = 0
    ) -> AppleAccount {
        AppleAccount(
            since: hours(100), now: now,
            counts: [
                AppleAccountTable.Count(
                    app: app, type: "SUBSCRIBED", listed: 7, held: 7 - missing - onItsWay, ignored: 0, deadLettered: 0,
                    onItsWay: onItsWay, missing: missing)
            ], missing: [],
            jobs: [
                RecoveryWindowTable.State(
                    app: app, job: .complete, progress: 1, listed: 7, published: 0,
                    completedAt: read.map { hours($0.lowerBound) }, completedFrom: read.map { hours($0.upperBound) },
                    completedUntil: read.map { hours($0.lowerBound) }, completedUnreadable: unreadable)
            ])
    }

    private static func text(_ account: AppleAccount) -> String { account.parts.lines.joined(separator: "\n") }

    @Test func `everything held, and read over the whole time, is balanced`() {
        #expect(Self.account(read: 0...100).isBalanced)
        #expect(Self.account(read: 36...100).isBalanced)
    }

    @Test func `one that is missing is not balanced`() { #expect(!Self.account(read: 0...100, missing: 1).isBalanced) }

    @Test func `one that is on its way is not held yet`() {
        let account = Self.account(read: 0...100, onItsWay: 1)
        #expect(!account.isBalanced)
        #expect(Self.text(account).contains("1 notification is on the way, and not held yet"))
    }

    @Test func `a list with an entry that holds no notification is not balanced`() {
        let account = Self.account(read: 0...100, unreadable: 1)
        #expect(!account.isBalanced)
        #expect(Self.text(account).contains("1 entry without a notification"))
    }

    @Test(
        arguments: [
            (nil, "not read to its end yet"), (0...99, "nothing is known of the time before"),
            (37...100, "nothing is known of the time after"),
        ] as [(ClosedRange<Int64>?, String)]) func `a list that was not read over the whole time says so`(
            read: ClosedRange<Int64>?, text: String
        )
    {
        let account = Self.account(read: read)
        #expect(!account.isBalanced)
        #expect(Self.text(account).contains(text))
    }

    @Test func `without any app nothing is balanced`() {
        let now = Self.now
        let account = AppleAccount(since: now, now: now, counts: [], missing: [], jobs: [])
        #expect(!account.isBalanced)
        #expect(Self.text(account).contains("has not asked Apple about any app"))
    }
}
