import Store
import Kafka
import Postgres
import Settings

extension CommandError {
    /// What an error means for the operator.
    init(describing error: any Error) {
        switch error {
        case let error as CommandError:
            self = error
        case let error as SettingsError:
            self.init(
                ExitCode.configuration,
                "the settings are not right:\n"
                    + error.problems.map { "  \($0)" }.joined(separator: "\n")
            )
        case let error as KafkaError where error.code == .invalidConfiguration:
            self.init(ExitCode.configuration, error.description)
        case let error as PostgresError where error.sqlState == .undefinedTable:
            self.init(
                ExitCode.configuration,
                "the database has not got the schema: run '\(PipelineTool.name) migrate'"
            )
        case let error as PostgresError where error.fault == .operator:
            self.init(ExitCode.configuration, error.description)
        case is MigrationError:
            self.init(ExitCode.configuration, "\(error)")
        case is KafkaError, is PostgresError:
            self.init(ExitCode.unavailable, "\(error)")
        default:
            self.init(ExitCode.software, "\(error)")
        }
    }
}
