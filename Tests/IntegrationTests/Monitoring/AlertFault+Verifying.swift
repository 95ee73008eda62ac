import Foundation
import Simulation
import TestSupport
import Testing
import Topology

/// Faults about certificates, roots and apps.
extension AlertFault {
    static let verifying = [expiringLeaf, noResponder, testRoot, wrongApps]

    /// The body was signed just within the seven days for which a leaf counts as in use.
    private static let expiringLeaf = AlertFault(
        name: "a leaf certificate that ends within a month signs", alerts: ["EntitlementsLeafExpiring"],
        make: { rig in
            let now = MonitoringRig.now
            let week: Int64 = 7 * 86_400_000
            let purchase = rig.purchase { fields in
                fields.purchaseDate = now - 2 * week
                fields.originalPurchaseDate = now - 2 * week
                fields.signedDate = now - week + 30_000
            }
            let seconds = now / 1_000
            let leaf = try CertificateAuthority(
                rig.authority.blueprint.withNextLeaf(validity: seconds - 30 * 86_400...seconds + 30 * 86_400))
            try await rig.post(leaf.sign(purchase.json))
        },
        // It ends by itself, when the leaf has signed nothing for a week.
        mend: { _ in })

    private static let noResponder = AlertFault(
        name: "nobody answers whether certificates are revoked", alerts: ["EntitlementsCertificateUnknown"],
        make: { rig in
            try await rig.restart(.verify, ["VERIFY_REVOCATION": "soft", "VERIFY_REVOCATION_INTERVAL": "1s"])
            try await rig.postRevocable { $0.contains("EntitlementsCertificateUnknown") }
        },
        mend: { rig in
            try await rig.startResponders()
            try await rig.postRevocable { !$0.contains("EntitlementsCertificateUnknown") }
        },
        restore: { rig in
            try await rig.stopResponders()
            try await rig.restart(.verify)
        })

    private static let testRoot = AlertFault(
        name: "a custom root is trusted for Production", alerts: ["EntitlementsTestRootInProduction"],
        prepare: { try $0.writeSettings(withoutProduction) }, make: { try $0.writeSettings() },
        mend: { try $0.writeSettings(withoutProduction) }, restore: { try $0.writeSettings() })

    /// The same settings for Sandbox alone, in which a custom root does no harm.
    private static func withoutProduction(_ settings: String) throws -> String {
        let json = try JSONSerialization.jsonObject(with: Data(settings.utf8))
        var members = try #require(json as? [String: Any])
        let apps = try #require(members["apps"] as? [[String: Any]])
        members["apps"] = apps.filter { $0["environment"] as? String != "Production" }
        let changed = try JSONSerialization.data(withJSONObject: members)
        return String(decoding: changed, as: UTF8.self)
    }

    private static let wrongApps = AlertFault(
        name: "settings that name other apps than those whose purchases come", alerts: ["EntitlementsBreakerTripped"],
        make: { rig in
            try rig.writeSettings { $0.replacing("com.example.", with: "com.elsewhere.") }
            try await rig.restart(.verify, ["BREAKER_REFUSED_MAX": "5"])
            try await rig.pipeline.publish(rig.acceptedItems.prefix(50))
        }, mend: { try $0.writeSettings() }, restore: { try await $0.restart(.verify) })
}
