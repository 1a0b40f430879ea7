//! SOCKS5 proxies: microsocks and OpenSSH.

use std::net::SocketAddr;

use super::parts::{find, Login, Server, Sshd};
use super::program::clean_command;
use super::temp::TempDir;

/// microsocks, with authentication if there is a login.
pub struct Microsocks {
    server: Server,
    _folder: TempDir,
}

impl Microsocks {
    pub fn start(login: Login) -> Microsocks {
        let program = find("microsocks");
        let folder = TempDir::new();
        let log = folder.at("log");
        let server = Server::start("microsocks", &log, |port| {
            let mut command = clean_command(&program);
            command.args(&["-i", "127.0.0.1", "-p", &port.to_string()]);
            if let Some((user, password)) = login {
                command.args(&["-u", user, "-P", password]);
            }
            command
        });
        Microsocks {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

/// OpenSSH's proxy: `ssh -D`, with its own sshd behind it.
pub struct SshSocks {
    server: Server,
    _sshd: Sshd,
    _folder: TempDir,
}

impl SshSocks {
    pub fn start() -> SshSocks {
        let (program, sshd, folder) = (find("ssh"), Sshd::start(), TempDir::new());
        let log = folder.at("log");
        let server = Server::start("ssh", &log, |port| {
            let mut command = clean_command(&program);
            command.args(sshd.client_options("none"));
            command.args(&["-N", "-D", &format!("127.0.0.1:{}", port), "127.0.0.1"]);
            command
        });
        SshSocks {
            server,
            _sshd: sshd,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}
