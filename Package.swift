// swift-tools-version: 6.2

import PackageDescription

// No outside package: the toolchain's modules and the system's C libraries are all it builds on.

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// The wrappers touch C pointers, so every unsafe expression in them has to be marked.
let wrapper: [SwiftSetting] = strict + [.strictMemorySafety()]

func systemLibrary(_ name: String, pkgConfig: String, debian: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([debian])])
}

func library(
    _ name: String,
    _ dependencies: [Target.Dependency] = [],
    path: String? = nil,
    exclude: [String] = [],
    embedded: [String] = [],
    settings: [SwiftSetting] = strict
) -> Target {
    .target(
        name: name,
        dependencies: dependencies,
        path: path,
        exclude: exclude,
        resources: embedded.map { .embedInCode($0) },
        swiftSettings: settings
    )
}

func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(
    _ name: String,
    _ dependencies: [Target.Dependency] = [],
    exclude: [String] = []
) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies,
        exclude: exclude,
        swiftSettings: strict
    )
}

let package = Package(
    name: "entitlement-pipeline",
    targets: [
        systemLibrary("CRDKafka", pkgConfig: "rdkafka", debian: "librdkafka-dev"),
        systemLibrary("COpenSSL", pkgConfig: "libcrypto", debian: "libssl-dev"),
        systemLibrary("CLibPQ", pkgConfig: "libpq", debian: "libpq-dev"),
        systemLibrary("CGMP", pkgConfig: "gmp", debian: "libgmp-dev"),
        systemLibrary("CMicroHTTPD", pkgConfig: "libmicrohttpd", debian: "libmicrohttpd-dev"),
        systemLibrary("CCurl", pkgConfig: "libcurl", debian: "libcurl4-openssl-dev"),

        // Functions of the C library that the toolchain's module leaves out.
        .systemLibrary(name: "CMalloc"),

        // The commit that is built; `deploy/container/build.sh` names it.
        .target(
            name: "CRelease",
            cSettings: [
                .define(
                    "COMMIT",
                    to: "\"\(Context.environment["ENTITLEMENTS_COMMIT"] ?? "unknown")\""
                )
            ]
        ),

        // Limits what a consumer's librdkafka decompresses.
        .target(name: "CDecompression", dependencies: ["CRDKafka"]),

        // The only importers of the C modules.
        library("Kafka", ["CDecompression", "CRDKafka", "Platform", "Threads"], settings: wrapper),
        library("OpenSSL", ["CGMP", "COpenSSL"], settings: wrapper),
        library("Postgres", ["CLibPQ", "Platform", "Threads"], settings: wrapper),
        library("HTTP", ["CMicroHTTPD", "Platform", "Threads"], settings: wrapper),
        library("Curl", ["CCurl", "Threads"], settings: wrapper),
        library("Release", ["CRelease"], settings: wrapper),

        // From the C library: threads, and a lock to wait for.
        library("Threads"),

        // From the C library: environment, files, clock, instead of Foundation. With that and the
        // regular expressions each worker would hold 3 MiB more in memory.
        library("Platform"),

        // Pure: no clock, no I/O, no environment.
        library("JSON"),
        library("AppStore", ["JSON", "OpenSSL", "Release"], exclude: ["VERIFICATION.md"]),
        library("Entitlements", ["AppStore", "JSON", "OpenSSL"]),

        // The client of Apple's server.
        library("AppStoreServer", ["AppStore", "Curl", "JSON", "OpenSSL", "Platform"]),

        // The records of our topics.
        library("Records", ["AppStore", "Entitlements", "JSON", "Kafka", "OpenSSL"]),

        // The pipeline.
        library("Settings", ["JSON", "Kafka", "OpenSSL", "Platform", "Release"]),
        library("Telemetry", ["AppStore", "JSON", "Platform", "Settings"]),
        library(
            "Worker",
            [
                "AppStore", "CMalloc", "HTTP", "JSON", "Kafka", "OpenSSL", "Platform", "Records",
                "Release", "Settings", "Telemetry",
            ]
        ),
        library(
            "Store",
            [
                "AppStore", "Entitlements", "JSON", "OpenSSL", "Platform", "Postgres", "Records",
                "Release", "Settings",
            ]
        ),
        library(
            "Topology",
            ["AppStore", "JSON", "OpenSSL", "Platform", "Records", "Settings"],
            path: "Sources/Stages/Topology"
        ),
        library(
            "DeadLetters",
            [
                "AppStore", "JSON", "Kafka", "OpenSSL", "Platform", "Postgres", "Records",
                "Settings", "Store", "Telemetry", "Topology",
            ]
        ),
        library(
            "Holdings",
            [
                "AppStore", "Entitlements", "JSON", "Kafka", "Postgres", "Records", "Settings",
                "Store", "Telemetry", "Worker",
            ],
            path: "Sources/Stages/Holdings"
        ),
        library(
            "VerifyStage",
            [
                "AppStore", "Entitlements", "Kafka", "OpenSSL", "Platform", "Records", "Settings",
                "Telemetry", "Threads", "Topology", "Worker",
            ],
            path: "Sources/Stages/Verify"
        ),
        library(
            "DedupeStage",
            [
                "AppStore", "Entitlements", "Holdings", "Kafka", "Postgres", "Records", "Settings",
                "Store", "Topology", "Worker",
            ],
            path: "Sources/Stages/Dedupe"
        ),
        library(
            "LinkStage",
            [
                "AppStore", "Entitlements", "Holdings", "Kafka", "Postgres", "Records", "Settings",
                "Store", "Telemetry", "Topology", "Worker",
            ],
            path: "Sources/Stages/Link"
        ),
        library(
            "EntitleStage",
            [
                "AppStore", "Entitlements", "Holdings", "JSON", "Kafka", "OpenSSL", "Postgres",
                "Records", "Settings", "Store", "Telemetry", "Topology", "Worker",
            ],
            path: "Sources/Stages/Entitle"
        ),

        library(
            "RecoveryStage",
            [
                "AppStore", "AppStoreServer", "Curl", "Holdings", "JSON", "Kafka", "OpenSSL",
                "Platform", "Postgres", "Records", "Settings", "Store", "Telemetry", "Topology",
                "Worker",
            ],
            path: "Sources/Stages/Recovery"
        ),

        // The auditors' web console.
        library(
            "AuditConsole",
            [
                "AppStore", "DeadLetters", "HTTP", "JSON", "Kafka", "OpenSSL", "Platform",
                "Postgres", "Records", "Settings", "Store", "Telemetry", "Threads",
            ],
            embedded: ["Assets/console.css", "Assets/console.js", "Assets/icon.svg"]
        ),

        // The operators' commands.
        library(
            "Operations",
            [
                "AppStore", "DedupeStage", "EntitleStage", "Entitlements", "Holdings", "JSON",
                "Kafka", "LinkStage", "Platform", "Postgres", "Records", "Settings", "Store",
                "Telemetry", "Topology", "Worker",
            ]
        ),

        // Certificate authorities, signed traffic, forgeries, and servers started on this machine:
        // for the demo, the benchmarks and the tests alone.
        library("Simulation", ["AppStore", "HTTP", "JSON", "OpenSSL", "Platform", "Postgres"]),
        library(
            "Demonstration",
            [
                "AppStore", "AuditConsole", "DeadLetters", "JSON", "Kafka", "OpenSSL",
                "Operations", "Platform", "Postgres", "Records", "Settings", "Simulation", "Store",
                "Topology", "Worker",
            ]
        ),
        library(
            "Benchmarks",
            [
                "AppStore", "AppStoreServer", "DeadLetters", "EntitleStage", "Entitlements", "JSON",
                "Kafka", "OpenSSL", "Operations", "Platform", "Postgres", "Records", "Release",
                "Settings", "Simulation", "Store", "Telemetry", "Topology", "Worker",
            ]
        ),

        executable("verify-worker", ["Settings", "VerifyStage", "Worker"]),
        executable("dedupe-worker", ["DedupeStage", "Settings", "Worker"]),
        executable("link-worker", ["LinkStage", "Settings", "Worker"]),
        executable("entitle-worker", ["EntitleStage", "Settings", "Worker"]),
        executable("recovery-worker", ["RecoveryStage", "Settings", "Worker"]),
        executable("dead-letter", ["AuditConsole", "DeadLetters", "Settings"]),
        executable("pipeline", ["Operations", "Settings"]),
        executable("demo", ["Demonstration", "Settings"]),
        executable("bench", ["Benchmarks", "Settings"]),

        library(
            "TestSupport",
            [
                "AppStore", "Entitlements", "HTTP", "JSON", "Kafka", "OpenSSL", "Platform",
                "Postgres", "Records", "Settings", "Simulation", "Store", "Telemetry", "Worker",
            ],
            path: "Tests/TestSupport"
        ),
        // Counts calls of the allocators and of libpq in a test's process.
        .target(name: "CCalls", path: "Tests/CCalls"),
        tests("JSONTests", ["JSON", "TestSupport"]),
        tests(
            "OpenSSLTests",
            ["JSON", "OpenSSL", "Simulation", "TestSupport"],
            exclude: ["Signatures"]
        ),
        tests("ThreadsTests", ["Threads"]),
        tests("PlatformTests", ["Platform", "TestSupport"]),
        tests("KafkaTests", ["Kafka", "TestSupport"]),
        tests("PostgresTests", ["Postgres", "Simulation", "TestSupport"]),
        tests(
            "StoreTests",
            [
                "AppStore", "Entitlements", "OpenSSL", "Postgres", "Records", "Settings", "Store",
                "TestSupport",
            ]
        ),
        tests(
            "SimulationTests",
            ["AppStore", "HTTP", "JSON", "OpenSSL", "Postgres", "Simulation", "TestSupport"]
        ),
        tests("HTTPTests", ["HTTP", "Simulation", "TestSupport"]),
        tests("CurlTests", ["Curl", "TestSupport"]),
        tests(
            "AppStoreServerTests",
            ["AppStore", "AppStoreServer", "Curl", "JSON", "OpenSSL", "Simulation", "TestSupport"]
        ),
        tests("SettingsTests", ["JSON", "Release", "Settings", "TestSupport"]),
        tests(
            "AppStoreTests",
            [
                "AppStore", "Entitlements", "JSON", "Kafka", "OpenSSL", "Records", "Simulation",
                "TestSupport",
            ]
        ),
        tests(
            "EntitlementsTests",
            [
                "AppStore", "Entitlements", "JSON", "OpenSSL", "Records", "Simulation",
                "TestSupport",
            ],
            exclude: ["Scenarios"]
        ),
        tests(
            "RecordsTests",
            ["AppStore", "Entitlements", "JSON", "Kafka", "OpenSSL", "Records", "TestSupport"]
        ),
        tests(
            "WorkerTests",
            [
                "AppStore", "HTTP", "JSON", "Kafka", "OpenSSL", "Records", "Release", "Settings",
                "Simulation", "Telemetry", "TestSupport", "Worker",
            ]
        ),
        tests(
            "DeadLettersTests",
            [
                "AppStore", "DeadLetters", "Entitlements", "JSON", "Kafka", "OpenSSL", "Postgres",
                "Records", "Settings", "Simulation", "Store", "TestSupport", "Topology", "Worker",
            ]
        ),
        tests(
            "AuditConsoleTests",
            [
                "AppStore", "AuditConsole", "DeadLetters", "HTTP", "Kafka", "OpenSSL", "Postgres",
                "Records", "Settings", "Simulation", "Store", "Telemetry", "TestSupport", "Worker",
            ]
        ),
        tests(
            "StagesTests",
            [
                "AppStore", "AppStoreServer", "CCalls", "DedupeStage", "EntitleStage",
                "Entitlements", "JSON", "Kafka", "LinkStage", "OpenSSL", "Operations", "Postgres",
                "Records", "RecoveryStage", "Settings", "Simulation", "Store", "Telemetry",
                "TestSupport", "Topology", "VerifyStage", "Worker",
            ]
        ),
        tests(
            "OperationsTests",
            [
                "AppStore", "JSON", "Kafka", "Operations", "Postgres", "Records", "Settings",
                "Simulation", "Store", "TestSupport", "Topology", "Worker",
            ]
        ),
        tests(
            "BenchmarksTests",
            [
                "AppStore", "Benchmarks", "JSON", "Operations", "Records", "Settings",
                "Simulation", "TestSupport", "Topology", "Worker",
            ]
        ),
        tests(
            "DemonstrationTests",
            [
                "AppStore", "Demonstration", "Entitlements", "JSON", "OpenSSL", "Operations",
                "Records", "Release", "Settings", "Simulation", "Store", "TestSupport", "Topology",
            ]
        ),
        tests(
            "IntegrationTests",
            [
                "AppStore", "Benchmarks", "DeadLetters", "Demonstration", "Entitlements", "HTTP",
                "JSON", "Kafka", "OpenSSL", "Operations", "Platform", "Postgres", "Records",
                "Settings", "Simulation", "Store", "Telemetry", "TestSupport", "Topology", "Worker",
            ]
        ),
        tests("TidyTests"),
    ],
    swiftLanguageModes: [.v6]
)

// Linked by deploy/fuzz.sh with libFuzzer's own main, so that no other build has them.
if Context.environment["FUZZING"] != nil {
    package.targets.append(
        library(
            "FuzzTargets",
            [
                "AppStore", "AppStoreServer", "DeadLetters", "JSON", "Kafka", "OpenSSL", "Records",
                "RecoveryStage", "Simulation",
            ],
            path: "Tests/Fuzz/Targets"
        )
    )
    package.products.append(
        .library(name: "FuzzTargets", type: .static, targets: ["FuzzTargets"])
    )
}
