import CRDKafka

/// A right of one principal to one topic or group, from any host (KIP-11, KIP-290).
package struct KafkaAccessRule: Hashable, Sendable {
    package enum Resource: String, CaseIterable, Sendable {
        case topic, group
    }

    /// By Kafka's own names; `read` and `write` imply `describe`.
    package enum Operation: String, CaseIterable, Sendable {
        case read, write, create, alter, describe
        case describeConfigs = "describe_configs"
        case alterConfigs = "alter_configs"
    }

    /// With its type, such as `User:verify-worker`.
    package let principal: String
    package let resource: Resource
    package let name: String
    /// Whether the rule is for every resource whose name begins so.
    package let isPrefix: Bool
    package let operation: Operation

    package init(
        _ principal: String,
        may operation: Operation,
        _ resource: Resource,
        _ name: String,
        isPrefix: Bool = false
    ) {
        self.principal = principal
        self.operation = operation
        self.resource = resource
        self.name = name
        self.isPrefix = isPrefix
    }
}

extension KafkaAdmin {
    /// Adds rules, and returns when every broker enforces them; one that is there already changes
    /// nothing.
    ///
    /// The controller acknowledges a rule before the brokers have it, and each broker answers by
    /// its own copy, so a worker started too early would be refused. This asks each broker.
    ///
    /// - Throws: if the brokers have no authorizer, or refuse a rule. `timedOut` also where the
    ///   rules are stored and a broker has not applied them in time.
    package func allow(_ rules: [KafkaAccessRule], deadline: Duration) async throws(KafkaError) {
        guard !rules.isEmpty else { return }
        let end = ContinuousClock.now + deadline
        var remaining: Duration { max(.zero, ContinuousClock.now.duration(to: end)) }
        try create(rules, deadline: deadline)
        for broker in try await metadata(deadline: remaining).brokerIDs {
            var missing = Set(rules)
            while true {
                do {
                    missing.subtract(try enforcedRules(ofBroker: broker, deadline: remaining))
                } catch {
                    throw error.unconfirmed(byBroker: broker)
                }
                if missing.isEmpty { break }
                guard ContinuousClock.now < end, !Task.isCancelled else {
                    throw KafkaError.deadline("applying \(missing.count) of them")
                        .unconfirmed(byBroker: broker)
                }
                try? await Task.sleep(for: Self.propagationPause)
            }
        }
    }

    private static let propagationPause = Duration.milliseconds(50)

    private func create(_ rules: [KafkaAccessRule], deadline: Duration) throws(KafkaError) {
        let client = try opened()
        var made: [OpaquePointer?] = unsafe []
        defer { unsafe rd_kafka_AclBinding_destroy_array(&made, made.count) }
        for rule in rules {
            unsafe made.append(try Self.make(rule))
        }
        let request = AdminRequest(client, RD_KAFKA_ADMIN_OP_CREATEACLS, deadline: deadline)
        unsafe try request.answer { client, options, queue in
            unsafe rd_kafka_CreateAcls(client, &made, made.count, options, queue)
        } read: { event throws(KafkaError) in
            var count = 0
            let results = unsafe rd_kafka_CreateAcls_result_acls(
                rd_kafka_event_CreateAcls_result(event),
                &count
            )
            for index in 0..<count {
                guard let error = unsafe rd_kafka_acl_result_error(results?[index]) else {
                    continue
                }
                throw unsafe KafkaError(
                    rd_kafka_error_code(error),
                    message: String(optionalCString: rd_kafka_error_string(error))
                )
            }
        }
    }

    /// The rules that one broker answers by, of those that ``allow(_:deadline:)`` can make.
    package func enforcedRules(
        ofBroker broker: Int32,
        deadline: Duration
    ) throws(KafkaError) -> Set<KafkaAccessRule> {
        let client = try opened()
        let all = unsafe rd_kafka_AclBindingFilter_new(
            RD_KAFKA_RESOURCE_ANY,
            nil,
            RD_KAFKA_RESOURCE_PATTERN_ANY,
            nil,
            nil,
            RD_KAFKA_ACL_OPERATION_ANY,
            RD_KAFKA_ACL_PERMISSION_TYPE_ANY,
            nil,
            0
        )
        defer { unsafe rd_kafka_AclBinding_destroy(all) }
        let request = AdminRequest(
            client,
            RD_KAFKA_ADMIN_OP_DESCRIBEACLS,
            broker: broker,
            deadline: deadline
        )
        return unsafe try request.answer { client, options, queue in
            unsafe rd_kafka_DescribeAcls(client, all, options, queue)
        } read: { event in
            var count = 0
            let bindings = unsafe rd_kafka_DescribeAcls_result_acls(
                rd_kafka_event_DescribeAcls_result(event),
                &count
            )
            var rules: Set<KafkaAccessRule> = []
            for index in 0..<count {
                guard let binding = unsafe bindings?[index] else { continue }
                if let rule = unsafe KafkaAccessRule(binding) { rules.insert(rule) }
            }
            return rules
        }
    }

    private static func make(_ rule: KafkaAccessRule) throws(KafkaError) -> OpaquePointer {
        var made: OpaquePointer?
        let reason = unsafe ErrorText.written { text, count in
            unsafe made = rd_kafka_AclBinding_new(
                rule.resource.native,
                rule.name,
                rule.isPrefix
                    ? RD_KAFKA_RESOURCE_PATTERN_PREFIXED : RD_KAFKA_RESOURCE_PATTERN_LITERAL,
                rule.principal,
                KafkaAccessRule.anyHost,
                rule.operation.native,
                RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW,
                text,
                count
            )
        }
        guard let made = unsafe made else {
            throw KafkaError(code: .invalidArgument, name: "INVALID_RULE", message: reason)
        }
        return unsafe made
    }
}

extension KafkaError {
    fileprivate func unconfirmed(byBroker broker: Int32) -> KafkaError {
        KafkaError(
            code: code,
            name: name,
            message: "the rules are stored, broker \(broker) has not confirmed them: \(message)",
            isRetriable: isRetriable,
            isFatal: isFatal
        )
    }
}

extension KafkaAccessRule {
    /// Nil for what this program does not make: a denial, a host, another resource or operation.
    fileprivate init?(_ binding: OpaquePointer) {
        let type = unsafe rd_kafka_AclBinding_restype(binding)
        let allowed = unsafe rd_kafka_AclBinding_operation(binding)
        let pattern = unsafe rd_kafka_AclBinding_resource_pattern_type(binding)
        let permission = unsafe rd_kafka_AclBinding_permission_type(binding)
        guard permission == RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW,
            unsafe String(optionalCString: rd_kafka_AclBinding_host(binding)) == Self.anyHost,
            let resource = Resource.allCases.first(where: { $0.native == type }),
            let operation = Operation.allCases.first(where: { $0.native == allowed })
        else { return nil }
        unsafe self.init(
            String(optionalCString: rd_kafka_AclBinding_principal(binding)),
            may: operation,
            resource,
            String(optionalCString: rd_kafka_AclBinding_name(binding)),
            isPrefix: pattern == RD_KAFKA_RESOURCE_PATTERN_PREFIXED
        )
    }

    fileprivate static let anyHost = "*"
}

extension KafkaAccessRule.Resource {
    fileprivate var native: rd_kafka_ResourceType_t {
        switch self {
        case .topic: RD_KAFKA_RESOURCE_TOPIC
        case .group: RD_KAFKA_RESOURCE_GROUP
        }
    }
}

extension KafkaAccessRule.Operation {
    fileprivate var native: rd_kafka_AclOperation_t {
        switch self {
        case .read: RD_KAFKA_ACL_OPERATION_READ
        case .write: RD_KAFKA_ACL_OPERATION_WRITE
        case .create: RD_KAFKA_ACL_OPERATION_CREATE
        case .alter: RD_KAFKA_ACL_OPERATION_ALTER
        case .describe: RD_KAFKA_ACL_OPERATION_DESCRIBE
        case .describeConfigs: RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS
        case .alterConfigs: RD_KAFKA_ACL_OPERATION_ALTER_CONFIGS
        }
    }
}
