package import Postgres
import Settings

extension PostgresError: CommandFailure {
    package var exitCode: Int32 {
        switch fault {
        case .operator: ExitCode.configuration
        case .record: ExitCode.data
        case .infrastructure: ExitCode.unavailable
        }
    }

    package func explanation(rights: String) -> String {
        switch sqlState {
        case .undefinedTable: "the database lacks the schema: run 'pipeline migrate'"
        case .insufficientPrivilege: "\(self)\n\(rights)"
        default: "\(self)"
        }
    }
}

extension MigrationError: CommandFailure { package var exitCode: Int32 { ExitCode.configuration } }
