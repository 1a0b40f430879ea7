//! What `main` does with any engine: arguments, logging, run, exit code.

use std::env;
use std::io::{self, ErrorKind, Write};

use log::{info, warn};

use super::config_source::Answers;
use super::env::Environment;
use super::{argv_scrub, command_line, Command};
use ptunnel_core::config::Config;
use ptunnel_core::error::Error;
use ptunnel_core::listener::reload::ConfigSource;
use ptunnel_core::observe::diagnose::{self, PathOpener};
use ptunnel_core::observe::logging;
use ptunnel_core::os::{fdpass, sys};
use ptunnel_core::upstream::pac;
use ptunnel_proto::values::Secret;

/// Runs the program with the arguments of this process; returns the exit code. `engine` serves the
/// configuration, and gets the source of a new one for reloads; `open` opens the paths of `--test`.
pub fn run(
    engine: impl FnOnce(&Config, Option<ConfigSource>) -> Result<(), Error>,
    open: PathOpener,
) -> i32 {
    pac::enable();
    match try_run(engine, open) {
        Ok(code) => code,
        Err(e) => {
            // stderr may be closed; the exit code remains.
            let _ = writeln!(io::stderr(), "ptunnel: {}", e);
            e.exit_code()
        }
    }
}

/// Returns the exit code, or an error that isn't logged yet.
fn try_run(
    engine: impl FnOnce(&Config, Option<ConfigSource>) -> Result<(), Error>,
    open: PathOpener,
) -> Result<i32, Error> {
    // Before the first password is read; only later is it known whether there are any.
    let filter = argv_scrub::leave_out_of_core_dumps();
    let words = command_line::read(env::args_os())?;
    // Before the prompt for a password, which may take a while.
    argv_scrub::conceal(&words.secrets());
    let answers = Answers::default();
    let prompt = |whose: &str| answers.ask(whose, ask);
    match words.command(&Environment::of_process(), &prompt)? {
        Command::Print(text) => match writeln!(io::stdout(), "{}", text) {
            // As with `| head`.
            Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                Err(Error::other("cannot write to stdout", e))
            }
            _ => Ok(0),
        },
        Command::Run(config, warnings) => {
            // Both before the first thread: the one holds for those that this one starts, and the
            // other forks.
            let confinement = confine(&config);
            if config.fdpass {
                fdpass::begin().map_err(|e| match e.kind() {
                    ErrorKind::InvalidInput => Error::usage(format!("--fdpass: {}", e)),
                    _ => Error::other("cannot start a process for --fdpass", e),
                })?;
            }
            // Starts the first thread.
            let logging = logging::init(
                config.verbosity,
                config.log_format,
                &config.log_to,
                config.log_time,
            );
            for warning in warnings {
                warn!("{}", warning);
            }
            match confinement {
                Ok(line) => info!("{}", line),
                Err(line) => warn!("{}", line),
            }
            argv_scrub::settle(filter, config.has_credentials());
            if config.test {
                return diagnose::run(&config, open);
            }
            Ok(match engine(&config, words.source(answers)) {
                Ok(()) => 0,
                Err(e) => {
                    logging.report_end(&e);
                    e.exit_code()
                }
            })
        }
    }
}

/// Gives up the privileges and system calls that the program doesn't need; returns a line for the
/// log.
///
/// # Errors
///
/// A warning, if something forbids it.
fn confine(config: &Config) -> Result<&'static str, String> {
    if !config.is_confined {
        return Ok("not confined: --unconfined is given");
    }
    match sys::confine_program(config.starts_programs()) {
        Ok(true) => Ok("confined: no new privileges; system calls are filtered"),
        Ok(false) => Ok("confined: no new privileges; this kernel filters no system calls"),
        Err(e) => Err(format!(
            "not confined: cannot filter system calls: {}; to start without this warning, add --unconfined",
            e
        )),
    }
}

/// Prompts on the terminal, as stdin and stdout may be the tunnel.
fn ask(whose: &str) -> io::Result<Secret> {
    rpassword::read_password_from_tty(Some(whose)).map(Secret::new)
}
