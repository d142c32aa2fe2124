//! The next statement of a block.

use super::script::{Dice, Statement};
use super::tables::{self, Step};
use super::world::{Effect, World};
use super::{alter, rows, views};

/// A statement, made of what there is. The first ones of a block make tables and views, and fill them.
pub fn next(dice: &mut Dice, world: &mut World, at: u64) -> Step {
    if at < 4 {
        return tables::create(dice, world);
    }
    if at < 8
        && let Some(step) = views::create(dice, world)
    {
        return step;
    }
    if world.unchecked > 0 {
        world.unchecked -= 1;
        if world.unchecked == 0 {
            let on = Statement::plain("SET foreign_key_checks = 1");
            return (on, Effect::None);
        }
    }
    for _ in 0..50 {
        let step = match (at, dice.below(100)) {
            (..20, _) => rows::insert(dice, world).map(|s| (s, Effect::None)),
            // Definitions end a transaction: most changes of them wait for its end.
            (_, 0..=6) if !world.open || dice.chance(30) => alter::change(dice, world),
            (_, 0..=16) => Some(rows::control(dice, world)),
            (_, 17..=29) => views::query(dice, world),
            _ => rows::change(dice, world),
        };
        if let Some((mut statement, effect)) = step {
            let rows = statement.changes_rows() || statement.reads();
            statement.prepared = rows && dice.chance(20);
            return (statement, effect);
        }
    }
    (Statement::plain("COMMIT"), Effect::End)
}
