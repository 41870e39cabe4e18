import ArgumentParser

/// A span of time as people give it on the command line: seconds, with a fraction where wanted.
struct Seconds: NumberArgument, Equatable {
    static let form = "seconds from 0.001 to 31536000"
    var duration: Duration

    init(_ seconds: Int) {
        duration = .seconds(seconds)
    }

    /// From a millisecond to a year.
    init?(argument: String) {
        guard let seconds = Double(argument), (0.001...31_536_000).contains(seconds) else { return nil }
        duration = .seconds(seconds)
    }
}

/// How long to wait for others, in seconds; 0 for not at all.
struct WaitingTime: NumberArgument, Equatable {
    static let form = Seconds.form + ", or 0 for not at all"
    var duration: Duration

    init?(argument: String) {
        guard let wait = Double(argument) == 0 ? .zero : Seconds(argument: argument)?.duration else { return nil }
        duration = wait
    }
}

/// A span of time in whole milliseconds, up to an hour.
struct Milliseconds: NumberArgument, Equatable {
    static let form = "whole milliseconds from 0 to 3600000"
    var duration: Duration

    init?(argument: String) {
        guard let milliseconds = Int(argument), (0...3_600_000).contains(milliseconds) else { return nil }
        duration = .milliseconds(milliseconds)
    }
}
