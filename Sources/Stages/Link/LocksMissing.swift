import Entitlements

/// Thrown where a transaction finds that it needs more locks and cannot have them out of order: it
/// is run again and takes them with the others.
struct LocksMissing: Error {
    let groups: Set<AppTransactionGroup>
}
