//! The server from inside the test's own process: what clients see of it. One program, since each that links the whole server takes long to build.

mod dumps;
mod gone_clients;
mod gtids;
mod long_work;
mod own_threads;
mod server;
mod test_server;
mod tls;
mod tls_client;
mod tools;
