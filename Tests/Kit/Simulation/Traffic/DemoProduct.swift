/// A product of the demo's apps.
package enum DemoProduct: String, CaseIterable, Sendable {
    case monthly = "com.example.pro.monthly"
    case premium = "com.example.pro.premium"
    case lifetime = "com.example.pro.lifetime"
    case season = "com.example.pro.season"
    case coins100 = "com.example.coins.100"
    case coins500 = "com.example.coins.500"
    /// A product that is sold but missing in the catalog.
    case uncatalogued = "com.example.pro.lighthouse"
    /// A product of forgeries only, which no user may ever have.
    case forged = "com.example.pro.forged"

    package static let subscriptionGroup = "21000001"

    package var type: String {
        switch self {
        case .monthly, .premium: "Auto-Renewable Subscription"
        case .lifetime, .uncatalogued, .forged: "Non-Consumable"
        case .season: "Non-Renewing Subscription"
        case .coins100, .coins500: "Consumable"
        }
    }

    /// The entitlement keys it grants by the catalog, or by its own name if that has none.
    package var entitlements: Set<String> {
        switch self {
        case .monthly: ["pro"]
        case .premium: ["pro", "premium"]
        case .lifetime: ["lifetime"]
        case .season: ["season"]
        case .coins100, .coins500: []
        case .uncatalogued, .forged: [rawValue]
        }
    }

    package var coins: Int64 {
        switch self {
        case .coins100: 100
        case .coins500: 500
        default: 0
        }
    }

    var price: Int64 {
        switch self {
        case .monthly: 9_990
        case .premium: 19_990
        case .lifetime, .uncatalogued, .forged: 149_990
        case .season: 24_990
        case .coins100: 990
        case .coins500: 3_990
        }
    }

    /// The catalog of all products but the forgotten and the forged one.
    package static let catalog = """
        {
          "products": {
            "com.example.pro.monthly": {
              "type": "auto-renewable",
              "entitlements": ["pro"],
              "group": "21000001",
              "level": 2
            },
            "com.example.pro.premium": {
              "type": "auto-renewable",
              "entitlements": ["pro", "premium"],
              "group": "21000001",
              "level": 1
            },
            "com.example.pro.lifetime": {
              "type": "non-consumable",
              "entitlements": ["lifetime"]
            },
            "com.example.pro.season": {
              "type": "non-renewing",
              "entitlements": ["season"],
              "duration": "P90D"
            },
            "com.example.coins.100": {
              "type": "consumable",
              "credits": { "coins": 100 }
            },
            "com.example.coins.500": {
              "type": "consumable",
              "credits": { "coins": 500 }
            }
          }
        }

        """
}

/// An app and environment for which the demo's verifiers are configured.
package struct DemoApp: Sendable, Hashable {
    package let bundleID: String
    package let environment: String
    package let appAppleID: Int64

    package init(bundleID: String, environment: String, appAppleID: Int64 = 1_234_567_890) {
        self.bundleID = bundleID
        self.environment = environment
        self.appAppleID = appAppleID
    }

    package static let pro = DemoApp(bundleID: "com.example.pro", environment: "Production")
    package static let proSandbox = DemoApp(bundleID: "com.example.pro", environment: "Sandbox")
    /// Sells in Production only: its Sandbox records are misrouted.
    package static let coins = DemoApp(
        bundleID: "com.example.coins", environment: "Production", appAppleID: 2_345_678_901)

    package static let all = [pro, proSandbox, coins]
}
