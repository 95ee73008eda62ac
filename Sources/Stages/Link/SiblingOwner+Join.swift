import Entitlements

extension SiblingOwner {
    /// Takes up one more purchase's owner.
    mutating func join(_ userID: String) {
        switch self {
        case .none: self = .one(userID)
        case .one(userID), .several: break
        case .one: self = .several
        }
    }
}
