import Testing

/// The whole pipeline with real parts: the four executables as processes of their own, a broker and
/// PostgreSQL.
///
/// One suite after the other: each of them is a whole machine's work.
@Suite(.serialized, .needsBuiltWorkers) enum PipelineTests {}
