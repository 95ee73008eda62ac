import CRDKafka

/// What one principal may do with one topic or group, from any host (KIP-11, KIP-290).
package struct KafkaAccessRule: Hashable, Sendable {
    package enum Resource: String, Sendable {
        case topic, group
    }

    /// By Kafka's own names; `read` and `write` imply `describe`.
    package enum Operation: String, Sendable {
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
    /// Adds rules; one that is there already changes nothing.
    ///
    /// - Throws: where the brokers have no authorizer, or refuse a rule.
    package func allow(
        _ rules: [KafkaAccessRule],
        deadline: Duration
    ) throws(KafkaError) {
        guard !rules.isEmpty else { return }
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

    private static func make(_ rule: KafkaAccessRule) throws(KafkaError) -> OpaquePointer {
        var made: OpaquePointer?
        let reason = unsafe ErrorText.written { text, count in
            unsafe made = rd_kafka_AclBinding_new(
                rule.resource.native,
                rule.name,
                rule.isPrefix
                    ? RD_KAFKA_RESOURCE_PATTERN_PREFIXED : RD_KAFKA_RESOURCE_PATTERN_LITERAL,
                rule.principal,
                "*",
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
