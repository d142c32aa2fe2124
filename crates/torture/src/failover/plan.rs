//! What a trial of `failover` is to do.

use harness::rng;

/// What is tried.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// How often the source is killed.
    #[arg(long, default_value_t = 10)]
    pub(super) times: u32,
    /// The source lives, and its clients write on while another one takes its place.
    #[arg(long)]
    pub(super) planned: bool,
    /// Clients that write.
    #[arg(long, default_value_t = 8)]
    pub(super) clients: u64,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    pub(super) seed: u64,
}
