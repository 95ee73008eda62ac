package import Kafka
import Settings

extension KafkaAdmin {
    /// Lends a client to `body` and closes it afterwards, however that ends; names the servers
    /// where none of them answers.
    package static func lend<T>(
        _ configuration: [String: String],
        _ body: (KafkaAdmin) async throws -> T
    ) async throws -> T {
        let admin = try KafkaAdmin(configuration: configuration)
        do {
            let value = try await body(admin)
            await admin.close()
            return value
        } catch let error as KafkaError where error.isSilence {
            await admin.close()
            let servers = configuration["bootstrap.servers"] ?? "the brokers"
            throw CommandError(ExitCode.unavailable, "no answer from Kafka at \(servers): \(error)")
        } catch {
            await admin.close()
            throw error
        }
    }
}

extension KafkaError {
    /// Nobody answered, or nobody could be asked.
    fileprivate var isSilence: Bool {
        [.transport, .allBrokersDown, .timedOut, .unauthenticated].contains(code)
    }
}
