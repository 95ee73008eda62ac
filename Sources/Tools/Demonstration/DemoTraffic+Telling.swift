import AppStore
package import Simulation
package import Store

extension DemoTraffic {
    /// The links that the customers need, including those of account tokens that are user IDs.
    package var accountLinks: [AccountLink] {
        let linked = links.map { link in
            AccountLink(
                kind: LinkKind(link.kind), key: Identifier(link.value), environment: link.app.environment,
                bundleID: Identifier(link.app.bundleID), userID: Identifier(link.userID))
        }
        let tokens = Set(links.map(\.value))
        let own = users.compactMap { user in
            user.accountToken.flatMap { token in
                tokens.contains(token)
                    ? nil : AccountLink(kind: .accountToken, key: Identifier(token), userID: Identifier(user.userID))
            }
        }
        return linked + own
    }

    /// The IDs of a few customers with different stories, the first of each story.
    var tellingUserIDs: [String] {
        let stories: [(DemoUser) -> Bool] = [
            { $0.entitlements == ["pro"] && $0.userID.hasPrefix("customer-") }, { $0.entitlements.contains("premium") },
            { $0.userID.hasPrefix("family-") }, { $0.entitlements.contains("season") },
            { $0.entitlements.contains("lifetime") }, { $0.coins > 0 },
            { !$0.sandboxEntitlements.isEmpty && $0.entitlements.isEmpty },
            { $0.entitlements.isEmpty && $0.sandboxEntitlements.isEmpty && $0.coins == 0 },
        ]
        var chosen: [String] = []
        for isTold in stories {
            let user = users.first { isTold($0) && !chosen.contains($0.userID) }
            chosen += user.map { [$0.userID] } ?? []
        }
        return chosen
    }
}

extension LinkKind {
    init(_ kind: DemoLink.Kind) {
        self =
            switch kind {
            case .accountToken: .accountToken
            case .appTransactionID: .appTransactionID
            case .originalTransactionID: .originalTransactionID
            }
    }
}
