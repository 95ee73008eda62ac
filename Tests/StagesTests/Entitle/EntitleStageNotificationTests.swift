import AppStore
import Entitlements
import Records
import Telemetry
import TestSupport
import Testing
import Topology
import Worker

/// Every genuine notification passes, whatever its name and content.
struct EntitleStageNotificationTests {
    private struct Pair: Hashable {
        var type: String
        var subtype: String?
    }

    private static let pairs: [Pair] = {
        let types = NotificationType.allCases.map(\.rawValue) + ["MIGRATE", "BRAND_NEW"]
        let subtypes = NotificationSubtype.allCases.map(\.rawValue) + ["NEVER_SEEN"]
        return types.flatMap { type in ([nil] + subtypes).map { Pair(type: type, subtype: $0) } }
    }()

    @Test func `one without a fact ends as recorded, by a rule that the history names`() async throws {
        let worker = try await EntitleWorker()
        let dispositions = try await worker.dispositions(Self.observations { _ in })
        #expect(Set(dispositions) == [.recorded])
        #expect(try await worker.meanings() == Self.meanings)
        let text = String(decoding: worker.registry.exposition(), as: UTF8.self)
        // The one unknown type without a subtype, with each known one, and with an unknown one.
        let unknown = NotificationSubtype.allCases.count + 2
        #expect(text.contains("entitle_notifications_total{meaning=\"unknown_type\"} \(unknown)\n"))
    }

    @Test func `a transaction in any notification is a fact`() async throws {
        let worker = try await EntitleWorker()
        let observations = try Self.observations { observation in
            let number = observation.source.position.offset
            observation.transaction = try Signed.transaction("t\(number)", signed: 1).json(.transaction)
        }
        let dispositions = try await worker.dispositions(observations)
        #expect(Set(dispositions) == [.applied])
        #expect(try await worker.count("transactions") == Int64(Self.pairs.count))
        #expect(try await worker.meanings() == Self.meanings)
    }

    @Test func `a renewal info in any notification is a fact`() async throws {
        let worker = try await EntitleWorker()
        let observations = try Self.observations { observation in
            let number = observation.source.position.offset
            observation.renewalInfo = try Signed.renewal("r\(number)", signed: 1, graceExpires: nil).json(.renewalInfo)
        }
        let dispositions = try await worker.dispositions(observations)
        #expect(Set(dispositions) == [.applied])
        #expect(try await worker.count("renewals") == Int64(Self.pairs.count))
    }

    @Test(arguments: [nil, 5_000]) func `a grace announced without its end is counted`(expires: Int64?) async throws {
        let worker = try await EntitleWorker()
        let renewal = try Signed.renewal("1", signed: 1, graceExpires: expires).json(.renewalInfo)
        var notification = try Signed.notification("DID_FAIL_TO_RENEW", signed: 1)
        notification.notification?.subtype = "GRACE_PERIOD"
        _ = try await worker.process([try notification.with { $0.renewalInfo = renewal }])
        let text = String(decoding: worker.registry.exposition(), as: UTF8.self)
        let meaning = expires == nil ? "grace_period_without_end" : "grace_period_began"
        #expect(text.contains(#"entitle_notifications_total{meaning="\#(meaning)"} 1"#))
    }

    private static var meanings: [String: String] {
        var meanings: [String: String] = [:]
        for pair in pairs {
            let meaning = NotificationMeaning(type: pair.type, subtype: pair.subtype).with(nil)
            meanings["\(pair.type)/\(pair.subtype ?? "")"] = meaning.rawValue
        }
        return meanings
    }

    private static func observations(_ change: (inout ObservationDraft) throws -> Void) throws -> [Observation] {
        try pairs.enumerated().map { number, pair in
            var observation = try Signed.notification(pair.type, signed: 1)
            observation.source?.position.offset = Int64(number)
            observation.notification?.subtype = pair.subtype
            observation.notification?.uuid = "uuid-\(number)"
            return try observation.with(change)
        }
    }
}
