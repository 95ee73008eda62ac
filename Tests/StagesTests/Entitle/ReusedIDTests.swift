import AppStore
import OpenSSL
import Postgres
import Simulation
import Testing

/// A transaction ID with other terms, signed again or reused in Xcode.
struct ReusedIDTests {
    private static let start: Int64 = 1_767_225_600_000

    /// - Parameter inOneBatch: if true the fold compares them, else the table too.
    @Test(arguments: [true, false]) func `a refund with other milliseconds of purchase counts`(inOneBatch: Bool)
        async throws
    {
        let rig = try await RebuildRig()
        let bought = Self.purchase("1", at: Self.start + 250, signed: 1)
        let refunded = Self.purchase("1", at: Self.start + 987, signed: 2) { $0.revocationDate = Self.start + 5_000 }
        if inOneBatch {
            try await rig.settle(batch: [bought, refunded])
        } else {
            try await rig.settle([bought, refunded])
        }
        #expect(try await rig.periods() == ["1 \(Self.start + 987)-\(Self.start + 5_000)"])
        try await rig.settle([Self.purchase("1", at: Self.start, signed: 1)])
        #expect(try await rig.periods() == ["1 \(Self.start + 987)-\(Self.start + 5_000)"])
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    /// Closed transactions are not read: the table alone compares them.
    @Test(arguments: 0..<12) func `a refund of a long subscription counts whatever its milliseconds`(_ number: Int64)
        async throws
    {
        let rig = try await RebuildRig()
        try await rig.settle(batch: (0..<12).map { Self.renewal($0, milliseconds: 500, signed: 1) })
        let closed = try await rig.client.query("SELECT count(*) FROM closed_periods")[0].int8(0)
        #expect(closed > 0)
        for milliseconds in [Int64(900), 100] {
            let refunded = Self.renewal(number, milliseconds: milliseconds, signed: 9) {
                $0.revocationDate = Self.start + number * 10_000 + 5_000
                $0.storefront = "\(milliseconds)"
            }
            try await rig.settle([refunded])
            let (code, output) = await rig.rebuild()
            #expect(code == 0, "\(output)")
            let end = Self.start + number * 10_000 + 5_000
            #expect(try await rig.periods().joined().contains("-\(end)"))
        }
    }

    @Test(arguments: [Environment.xcode, .localTesting]) func `the newest signed transaction owns a reused ID`(
        environment: Environment
    ) async throws {
        let rig = try await RebuildRig()
        let former = [
            Self.purchase("0", at: Self.start, signed: 1),
            Self.purchase("1", of: "0", at: Self.start + 90_000, signed: 1),
        ]
        let latter = [
            Self.purchase("0", at: Self.start + 200_000, signed: 9) { $0.productID = "gold" },
            Self.purchase("1", at: Self.start + 300_000, signed: 9) { $0.quantity = 2 },
        ]
        func settle(_ samples: [Sample]) async throws {
            try await rig.settle(samples.map { $0.with { $0.environment = environment } })
        }
        try await settle(former)
        try await settle(latter)
        let expected = [
            "0 \(Self.start + 200_000)-\(Self.start + 280_000)", "1 \(Self.start + 300_000)-\(Self.start + 380_000)",
        ]
        #expect(try await rig.periods() == expected)
        // Older ones change nothing, though their ID is another purchase's now.
        try await settle(former.map { $0.with { $0.transaction?.storefront = "late" } })
        #expect(try await rig.periods() == expected)
        #expect(try await rig.client.query("SELECT count(*) FROM transactions")[0].int8(0) == 2)
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    @Test func `two people with Xcode do not end each other's purchases`() async throws {
        let rig = try await RebuildRig()
        func bought(by token: String, _ certificate: String, signed: Int64) -> Sample {
            Self.purchase("0", at: Self.start, signed: signed) {
                $0.appAccountToken = token
                $0.appTransactionID = "0"
                $0.environment = "Xcode"
            }.with {
                $0.environment = .xcode
                $0.trust = .configured(SHA256.digest(Array(certificate.utf8)))
                $0.method = .jwsXcode
            }
        }
        try await rig.settle([
            bought(by: LinkWorker.anna, "Anna's", signed: 1), bought(by: LinkWorker.bob, "Bob's", signed: 2),
        ])
        func owners() async throws -> [String] {
            try await rig.client.query(
                """
                SELECT entitlements.user_id || ' ' || regexp_replace(original_transaction_id, '@.{16}$', '@') || ' ' ||
                    count(*) OVER (PARTITION BY app_transaction_id)
                FROM entitlements JOIN owners USING (original_transaction_id) ORDER BY 1
                """
            ).map { $0.text(0) }
        }
        #expect(try await owners() == ["anna 0@ 1", "bob 0@ 1"])
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    @Test func `a purchase in Xcode that was stored without its certificate is read again as it is`() async throws {
        let rig = try await RebuildRig()
        let certificate = SHA256.digest(Array("certificate".utf8)).hex
        try await rig.settle([Self.purchase("0", at: Self.start, signed: 1).with { $0.environment = .xcode }])
        for table in ["transactions", "ownership_facts"] {
            _ = try await rig.client.query("UPDATE \(table) SET trust = '\(certificate)'")
        }
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    private static func renewal(
        _ number: Int64, milliseconds: Int64, signed: Int64, _ change: (inout TransactionFields) -> Void = { _ in }
    ) -> Sample {
        purchase("1-\(number)", of: "1", at: start + number * 10_000 + milliseconds, signed: signed) {
            $0.expiresDate = start + (number + 1) * 10_000
            change(&$0)
        }
    }

    private static func purchase(
        _ id: String, of original: String? = nil, at purchased: Int64, signed: Int64,
        _ change: (inout TransactionFields) -> Void = { _ in }
    ) -> Sample {
        Sample.purchase(
            original ?? id, id, at: purchased,
            // After every purchase: a later purchase begins when it is signed.
            signed: start + 1_000_000 + signed, token: LinkWorker.anna, until: purchased + 80_000
        ).with { sample in
            if var fields = sample.transaction {
                change(&fields)
                sample.transaction = fields
            }
        }
    }
}

extension RebuildRig {
    /// The purchase and periods of each row.
    fileprivate func periods() async throws -> [String] {
        try await client.query(
            """
            SELECT original_transaction_id || ' ' || (
                SELECT string_agg(
                    (extract(epoch FROM lower(span)) * 1000)::int8 || '-'
                        || (extract(epoch FROM upper(span)) * 1000)::int8,
                    ' ' ORDER BY lower(span))
                FROM unnest(periods) AS span
            )
            FROM entitlements ORDER BY 1
            """
        ).map { $0.text(0) }
    }
}
