//! A session before the [fence](crate::fence): for whom it works, and whether it may change what lasts.

use super::Session;
use crate::engine::Engine;
use crate::fence::{Draining, Fence, Rank};
use types::SqlError;

/// How long branches may take that are prepared when the fence goes up, in microseconds: their coordinators are in the midst of it.
const BRANCHES_END_WITHIN_US: u64 = 2_000_000;

impl Engine {
    /// Who is kept from changing anything.
    pub fn fence(&self) -> Fence {
        self.fence.get()
    }

    /// Sets it. What has begun to commit by then may still do so: who wants to know has the server locked for reading.
    pub fn set_fence(&self, fence: Fence) {
        self.fence.set(fence);
    }
}

impl Session {
    /// Lets prepared branches be ended behind the fence. To be asked for before it is raised.
    pub fn drain(&self) -> Draining {
        self.engine.fence.drain()
    }

    /// Whether somebody who raises the fence lets branches be ended still.
    pub fn branches_may_end(&self) -> bool {
        self.engine.fence.drains()
    }

    /// Waits until no branch is prepared that only this server has, but not long. What is in a group, others have: it is ended there.
    ///
    /// # Errors
    /// 1317 when killed, 3024 when its time is over.
    pub async fn let_branches_end(&self) -> Result<(), SqlError> {
        let branches = &self.engine.branches;
        let until = self.now_us().saturating_add(BRANCHES_END_WITHIN_US);
        let ended = self.wait_until(&branches.ended, until, || !branches.any_here_alone());
        ended.await.map(drop)
    }

    /// Whether the session may end a prepared branch, as things are now.
    ///
    /// # Errors
    /// 1290.
    pub(crate) fn check_fence_of_branches(&self) -> Result<(), SqlError> {
        self.engine.fence.check_of_branch(self.rank)
    }

    /// Says for whom the session works, and yields for whom it did: a new one works for the server.
    pub fn set_rank(&mut self, rank: Rank) -> Rank {
        std::mem::replace(&mut self.rank, rank)
    }

    /// Whether the session may change what lasts, as things are now.
    ///
    /// # Errors
    /// 1290.
    #[inline]
    pub fn check_fence(&self) -> Result<(), SqlError> {
        self.engine.fence.check(self.rank)
    }
}
