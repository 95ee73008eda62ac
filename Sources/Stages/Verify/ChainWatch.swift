import AppStore
import OpenSSL

/// Hands a chain that has come into use on to all who want to know.
struct ChainWatch: ChainObserver {
    let leaves: LeafWatch
    let revocations: RevocationLookup?

    func observed(_ chain: [Certificate]) {
        leaves.add(chain)
        revocations?.add(chain)
    }
}
