/// Who stands behind the purchases of one `appTransactionId` by rules 1 and 2.
package enum SiblingOwner: Hashable, Sendable {
    case none
    case one(String)
    case several

    /// - Parameter owners: the present owner by rules 1 and 2 of each purchase of the group, nil
    ///   where these rules name nobody.
    package init(owners: some Sequence<String?>) {
        self = .none
        for case let owner? in owners {
            switch self {
            case .none: self = .one(owner)
            case .one(owner): break
            case .one, .several: self = .several
            }
        }
    }
}
