import AppStore
import OpenSSL

/// Passes each newly used chain to all observers.
struct ChainObservers: ChainObserver {
    let leaves: LeafWatch
    let revocations: RevocationLookup?

    func observed(_ chain: [Certificate]) {
        leaves.add(chain)
        revocations?.add(chain)
    }
}
