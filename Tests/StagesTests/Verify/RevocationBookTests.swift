import AppStore
import OpenSSL
import Testing
import TestSupport
import Simulation
import VerifyStage

/// The times at which a responder is asked, and the validity of its answer.
@Suite struct RevocationBookTests {
    private static let chain = Result { try RevocableAuthority(port: 9).chain }
    /// 2026-01-01, in milliseconds.
    private static let start: Int64 = 1_767_225_600_000

    private static func subject() throws -> RevocationBook.Subject {
        let chain = try chain.get()
        return RevocationBook.Subject(chain[0], issuedBy: chain[1])
    }

    private static func book(interval: Duration = .seconds(3_600)) throws -> RevocationBook {
        var book = RevocationBook(interval: interval)
        book.add(try subject())
        return book
    }

    private static func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: start + seconds * 1_000) }

    private static func fault(_ text: String = "x") -> Result<OCSPAnswer, OCSPError> {
        .failure(OCSPError(.unanswered, text))
    }

    private static func status(_ book: RevocationBook, at seconds: Int64) throws -> RevocationSnapshot.Status? {
        book.statuses(at: time(seconds))[try subject().certificate.fingerprint]
    }

    private static func note(_ book: inout RevocationBook, _ answer: Result<OCSPAnswer, OCSPError>, at seconds: Int64)
        throws -> RevocationBook.Change
    { book.record(answer, about: try subject().certificate.fingerprint, at: time(seconds)) }

    private static func answer(_ status: OCSPAnswer.Status, thisUpdate: Int64 = 0, nextUpdate seconds: Int64? = 86_400)
        -> Result<OCSPAnswer, OCSPError>
    {
        .success(
            OCSPAnswer(
                status: status, thisUpdate: start / 1_000 + thisUpdate, nextUpdate: seconds.map { start / 1_000 + $0 }))
    }

    @Test func `a question is put once per certificate and interval`() throws {
        var book = try Self.book()
        book.add(try Self.subject())
        #expect(book.due(at: Self.time(0)).count == 1)
        #expect(book.due(at: Self.time(9_999)).isEmpty, "while it is being asked")
        _ = try Self.note(&book, Self.answer(.good), at: 10)
        #expect(book.due(at: Self.time(3_609)).isEmpty)
        #expect(book.due(at: Self.time(3_610)).count == 1)
    }

    @Test func `a failed question is put again soon, and the fault reported once`() throws {
        var book = try Self.book()
        _ = book.due(at: Self.time(0))
        #expect(try Self.note(&book, Self.fault(), at: 1) == .fault(OCSPError(.unanswered, "x")))
        #expect(book.due(at: Self.time(10)).isEmpty)
        #expect(book.due(at: Self.time(11)).count == 1)
        #expect(try Self.note(&book, Self.fault(), at: 12) == .none)
        #expect(try Self.note(&book, Self.answer(.unknown), at: 13) != .none)
        #expect(try Self.status(book, at: 14) == .unknown)
    }

    @Test func `a good answer counts until the next update, even if later questions fail`() throws {
        var book = try Self.book()
        _ = try Self.note(&book, Self.answer(.good), at: 0)
        _ = try Self.note(&book, Self.fault(), at: 4_000)
        let skew = OCSPAnswer.clockSkewMax
        #expect(try Self.status(book, at: 86_400 + skew) == .good)
        #expect(try Self.status(book, at: 86_400 + skew + 1) == .unknown)
    }

    @Test func `without a next update a good answer counts for two intervals`() throws {
        var book = try Self.book()
        _ = try Self.note(&book, Self.answer(.good, nextUpdate: nil), at: 0)
        #expect(try Self.status(book, at: 7_200) == .good)
        #expect(try Self.status(book, at: 7_202) == .unknown)
    }

    @Test func `a revocation stays until it is lifted`() throws {
        var book = try Self.book()
        let since = Self.start / 1_000 - 60
        let change = try Self.note(&book, Self.answer(.revoked(since: since)), at: 0)
        #expect(change == .revoked(since: since))
        _ = try Self.note(&book, Self.fault(), at: 10)
        _ = try Self.note(&book, Self.answer(.unknown), at: 20)
        #expect(try Self.status(book, at: 900_000) == .revoked(since: since))
        #expect(try Self.note(&book, Self.answer(.good), at: 30) == .reinstated)
        #expect(try Self.status(book, at: 30) == .good)
    }

    @Test func `an older answer changes nothing, and the question is put again soon`() throws {
        var book = try Self.book()
        _ = try Self.note(&book, Self.answer(.revoked(since: 5)), at: 0)
        #expect(try Self.note(&book, Self.answer(.good, thisUpdate: -21_600), at: 10) == .none)
        #expect(try Self.status(book, at: 10) == .revoked(since: 5))
        #expect(book.due(at: Self.time(20)).count == 1)
        let lifted = try Self.note(&book, Self.answer(.good, thisUpdate: 60), at: 60)
        #expect(lifted == .reinstated)
        #expect(try Self.note(&book, Self.answer(.revoked(since: 5)), at: 70) == .none)
        #expect(try Self.status(book, at: 70) == .good)
    }

    @Test func `a clock that was ahead for a time does not put the questions off`() throws {
        var book = try Self.book()
        _ = try Self.note(&book, Self.fault(), at: 31_536_000)
        #expect(book.due(at: Self.time(20)).count == 1)
    }

    @Test func `an expired certificate is asked about once before no answer is expected`() throws {
        var book = try Self.book()
        let end = try Self.subject().certificate.validity.upperBound - Self.start / 1_000
        #expect(try Self.status(book, at: end + 1) == .unknown)
        _ = try Self.note(&book, Self.fault(), at: end + 1)
        #expect(try Self.status(book, at: end) == .unknown)
        #expect(try Self.status(book, at: end + 1) == .unanswerable)
        _ = try Self.note(&book, Self.answer(.revoked(since: 5)), at: end + 2)
        #expect(try Self.status(book, at: end + 3) == .revoked(since: 5))
    }

    @Test func `another book's knowledge is continued and asked about again at once`() throws {
        var former = try Self.book()
        _ = former.due(at: Self.time(0))
        _ = try Self.note(&former, Self.answer(.revoked(since: 5)), at: 0)
        var book = RevocationBook(interval: .seconds(60))
        book.resume(former)
        #expect(try Self.status(book, at: 1) == .revoked(since: 5))
        #expect(book.due(at: Self.time(1)).count == 1)
    }
}
