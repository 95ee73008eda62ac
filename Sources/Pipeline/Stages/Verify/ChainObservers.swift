import AppStore
import OpenSSL

/// Passes a chain that has come into use on to all observers.
struct ChainObservers: ChainObserver {
    let leaves: LeafWatch
    let revocations: RevocationLookup?

    func observed(_ chain: [Certificate]) {
        leaves.add(chain)
        revocations?.add(chain)
    }
}
