import AppStore
import Entitlements
import OpenSSL
import Postgres

/// The statements that raise the ownership facts to what a batch says; they only ever rise.
enum OwnershipWriting {
    /// - Returns: that of the claims last, which answers how many of them name another user than
    ///   what is stored beside the same transaction.
    static func statements(_ batch: LinkBatch) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !batch.transactions.isEmpty {
            statements.append(facts(batch.transactions.values))
        }
        if !batch.renewals.isEmpty {
            statements.append(renewals(batch.renewals.values))
        }
        if !batch.claims.isEmpty {
            statements.append(claims(batch.claims.values))
        }
        return statements
    }

    private static func facts(_ facts: some Collection<TransactionFact>) -> PostgresStatement {
        var originals = PostgresArray(of: .text)
        var transactions = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var tracks = PostgresArray(of: .text)
        var signedDates = PostgresArray(of: .int8)
        var hashes = PostgresArray(of: .bytea)
        var trusts = PostgresArray(of: .text)
        var purchaseDates = PostgresArray(of: .int8)
        var types = PostgresArray(of: .text)
        var expiresDates = PostgresArray(of: .int8)
        var revocationDates = PostgresArray(of: .int8)
        var revokingDates = PostgresArray(of: .int8)
        var revokingHashes = PostgresArray(of: .bytea)
        var tokens = PostgresArray(of: .text)
        var appTransactions = PostgresArray(of: .text)
        for fact in facts {
            originals.append(fact.identity.originalTransactionID)
            transactions.append(fact.key.transactionID)
            environments.append(fact.key.environment.rawValue)
            bundleIDs.append(fact.key.bundleID)
            tracks.append(fact.track.rawValue)
            signedDates.append(fact.revision.signedDate.milliseconds)
            hashes.append(fact.revision.contentHash.bytes)
            trusts.append(fact.trust.text)
            purchaseDates.append(fact.identity.purchaseDate.milliseconds)
            types.append(fact.identity.type?.rawValue)
            expiresDates.append(fact.expiresDate?.milliseconds)
            revocationDates.append(fact.revocation?.date.milliseconds)
            let revoking = fact.track == .receipt ? fact.revoking : nil
            revokingDates.append(revoking?.signedDate.milliseconds)
            revokingHashes.append(revoking?.contentHash.bytes)
            tokens.append(fact.appAccountToken?.canonical)
            appTransactions.append(fact.appTransactionID)
        }
        let columns = [
            originals, transactions, environments, bundleIDs, tracks, signedDates, hashes, trusts,
            purchaseDates, types, expiresDates, revocationDates, revokingDates, revokingHashes,
            tokens, appTransactions,
        ]
        return PostgresStatement(raiseFacts, columns.map { .array($0) })
    }

    private static let raiseFacts = OwnershipRaising.facts(
        """
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[], $7::bytea[],
            $8::text[], $9::int8[], $10::text[], $11::int8[], $12::int8[], $13::int8[],
            $14::bytea[], $15::text[], $16::text[])
        """
    )

    private static func renewals(_ facts: some Collection<RenewalFact>) -> PostgresStatement {
        var originals = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var trusts = PostgresArray(of: .text)
        var signedDates = PostgresArray(of: .int8)
        var hashes = PostgresArray(of: .bytea)
        var tokens = PostgresArray(of: .text)
        var appTransactions = PostgresArray(of: .text)
        for fact in facts {
            originals.append(fact.key.originalTransactionID)
            environments.append(fact.key.environment.rawValue)
            trusts.append(fact.key.trust.text)
            signedDates.append(fact.revision.signedDate.milliseconds)
            hashes.append(fact.revision.contentHash.bytes)
            tokens.append(fact.appAccountToken?.canonical)
            appTransactions.append(fact.appTransactionID)
        }
        let columns = [
            originals, environments, trusts, signedDates, hashes, tokens, appTransactions,
        ]
        return PostgresStatement(raiseRenewals, columns.map { .array($0) })
    }

    private static let raiseRenewals = OwnershipRaising.renewals(
        """
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::int8[], $5::bytea[], $6::text[], $7::text[])
        """
    )

    private static func claims(_ claims: some Collection<LinkBatch.Claim>) -> PostgresStatement {
        var originals = PostgresArray(of: .text)
        var transactions = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var purchaseDates = PostgresArray(of: .int8)
        var timestamps = PostgresArray(of: .int8)
        var partitions = PostgresArray(of: .int8)
        var offsets = PostgresArray(of: .int8)
        var users = PostgresArray(of: .text)
        for claim in claims {
            originals.append(claim.purchase.originalTransactionID)
            transactions.append(claim.claim.transactionID)
            environments.append(claim.purchase.environment.rawValue)
            bundleIDs.append(claim.purchase.bundleID)
            purchaseDates.append(claim.claim.purchaseDate.milliseconds)
            timestamps.append(claim.claim.position.timestamp.milliseconds)
            partitions.append(Int64(claim.claim.position.partition))
            offsets.append(claim.claim.position.offset)
            users.append(claim.claim.userID)
        }
        let columns = [
            originals, transactions, environments, bundleIDs, purchaseDates, timestamps, partitions,
            offsets, users,
        ]
        return PostgresStatement(raiseClaims, columns.map { .array($0) })
    }

    private static let raiseClaims = """
        WITH named AS (
            SELECT * FROM unnest(
                $1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::int8[],
                $7::int8[], $8::int8[], $9::text[])
                AS named (original_transaction_id, transaction_id, environment, bundle_id,
                    purchase_date_ms, raw_timestamp_ms, raw_partition, raw_offset, user_id)
        ),
        raised AS (
            INSERT INTO ownership_claims AS known (
                original_transaction_id, transaction_id, environment, bundle_id, purchase_date_ms,
                raw_timestamp_ms, raw_partition, raw_offset, user_id)
            SELECT * FROM named
            ON CONFLICT (original_transaction_id, transaction_id, environment, bundle_id)
            DO UPDATE SET
                purchase_date_ms = excluded.purchase_date_ms,
                raw_timestamp_ms = excluded.raw_timestamp_ms,
                raw_partition = excluded.raw_partition,
                raw_offset = excluded.raw_offset,
                user_id = excluded.user_id
            WHERE (excluded.raw_timestamp_ms, excluded.raw_partition, excluded.raw_offset)
                < (known.raw_timestamp_ms, known.raw_partition, known.raw_offset)
        )
        SELECT count(*) FROM named CROSS JOIN LATERAL (
            SELECT known.user_id FROM ownership_claims AS known
            WHERE known.original_transaction_id = named.original_transaction_id
              AND known.transaction_id = named.transaction_id
              AND known.environment = named.environment AND known.bundle_id = named.bundle_id
            OFFSET 0
        ) AS known
        WHERE known.user_id <> named.user_id
        """
}
