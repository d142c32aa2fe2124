//! Finished groups on their way to the output: what their rows read of subqueries, HAVING, the order and the limit.
//!
//! Never here: how rows come to their groups.

use types::SqlError;

use crate::Env;
use crate::op::group::{Groups, next_groups};
use crate::op::tail::Tail;
use crate::pause::flush_now_and_then;
use crate::row::OnlySubs;
use crate::spill::group::GroupSpill;
use crate::sub::{self, SubValues};
use sql_expr::RowSource;
use sql_plan::plan::Block;
use sql_plan::plan::tally::Place;
use sql_plan::sink::ResultSink;

impl Env<'_> {
    /// Sends the groups to the output.
    pub(super) async fn finish_groups(
        &mut self,
        block: &Block,
        mut groups: Groups<'_>,
        outer: &dyn RowSource,
        subs: &mut SubValues,
        out: &mut Tail<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let env = self;
        let cx = env.cx;
        let mut sent = 0u64;
        let begun = env.begun();
        let after = block.grouping().map_or(&[][..], |g| &g.subqueries);
        while groups.next(cx)? {
            for &i in after {
                let rest = OnlySubs { subs, outer };
                let rows =
                    sub::rows(&block.subqueries[i as usize], env, &groups.row(&rest)).await?;
                subs.set(i, rows);
            }
            let rest = OnlySubs { subs, outer };
            if block.special {
                let row = groups.row(&rest);
                env.ahead(|| out.rehearse(cx, &row)).await?;
            }
            loop {
                let pushed = out.push(cx, &groups.row(&rest), sink);
                if env.settle(pushed).await?.is_some() {
                    break;
                }
            }
            if out.full() {
                break;
            }
            sent += 1;
            out.tidy(env).await?;
            flush_now_and_then(sent, env, sink).await?;
        }
        env.tell(block, Place::Groups, begun, 1, sent);
        Ok(())
    }

    /// Sends the groups to the output that had no room among the others.
    pub(super) async fn later_groups(
        &mut self,
        block: &Block,
        spilled: GroupSpill,
        outer: &dyn RowSource,
        subs: &mut SubValues,
        out: &mut Tail<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let (Some(plan), false) = (block.group(), out.full()) else {
            return Ok(());
        };
        let env = self;
        let cx = env.cx;
        let Some(mut waiting) = spilled.finish(env).await? else {
            return Ok(());
        };
        loop {
            let rest = OnlySubs { subs, outer };
            let Some(groups) = next_groups(plan, &mut waiting, cx, &rest, env).await? else {
                return Ok(());
            };
            env.finish_groups(block, groups, outer, subs, out, sink)
                .await?;
            if out.full() {
                return Ok(());
            }
        }
    }
}
