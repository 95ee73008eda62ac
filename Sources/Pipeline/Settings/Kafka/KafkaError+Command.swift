package import Kafka

extension KafkaError: CommandFailure {
    package var exitCode: Int32 { code == .invalidConfiguration ? ExitCode.configuration : ExitCode.unavailable }
}
