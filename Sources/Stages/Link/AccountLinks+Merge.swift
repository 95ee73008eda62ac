import Entitlements

extension AccountLinks {
    mutating func merge(_ other: AccountLinks) {
        userByToken.merge(other.userByToken) { $1 }
        userByAppTransactionID.merge(other.userByAppTransactionID) { $1 }
        userByOriginalTransactionID.merge(other.userByOriginalTransactionID) { $1 }
    }
}
