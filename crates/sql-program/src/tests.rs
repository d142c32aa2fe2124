//! Programs are compiled, and run by a host that knows whole numbers alone: an expression is a number, a variable, a sum or a comparison.

use base::block_on;
use sql_parser::Options;
use sql_parser::ast::{BinaryOp, Expr, Statement};
use types::error::{SqlState, codes};
use types::{Level, SqlError, Value};

use crate::code::{Program, Slot};
use crate::host::{Host, Later, Raised, Step};
use crate::{Kind, Source, compile, run};

fn compiled(text: &str) -> Result<Program, SqlError> {
    let text = format!("CREATE PROCEDURE p(n INT) {text}");
    let parsed = sql_parser::parse_one(text.as_bytes(), &Options::default());
    let Statement::CreateRoutine(r) = parsed.expect("a procedure").0 else {
        panic!("{text}")
    };
    compile(&Source {
        kind: Kind::Procedure,
        params: &r.params,
        body: &r.body,
        text: text.as_bytes(),
        is_variable: &|name| name.eq_ignore_ascii_case("sql_mode"),
    })
}

/// Counts what it is asked for. Statements fail with the numbers that they are told to, one after another.
struct Numbers {
    program: Program,
    pauses: u32,
    most_pauses: u32,
    errors: Vec<Option<u16>>,
    entered: u32,
    left: u32,
    open: Vec<u32>,
}

impl Numbers {
    fn of(text: &str) -> Numbers {
        Numbers {
            program: compiled(text).expect("it compiles"),
            pauses: 0,
            most_pauses: 1000,
            errors: Vec::new(),
            entered: 0,
            left: 0,
            open: Vec::new(),
        }
    }

    /// Runs it; the variables as they are at the end.
    fn run(&mut self, n: i64) -> Result<Vec<i64>, u16> {
        let program = self.program.clone();
        let mut vars = vec![Value::Int(n)];
        let outcome = block_on(run(&program, &mut vars, self));
        assert!(self.open.is_empty(), "a cursor is left open");
        outcome.map_err(|e| e.code)?;
        let number = |v: &Value| match v {
            Value::Int(n) => *n,
            _ => i64::MIN,
        };
        Ok(vars.iter().map(number).collect())
    }

    fn value(&self, e: &Expr, vars: &[Value]) -> i64 {
        match e {
            Expr::Int(n) => *n as i64,
            Expr::Param(slot) => match vars[*slot as usize] {
                Value::Int(n) => n,
                _ => i64::MIN,
            },
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a, vars), self.value(b, vars));
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Lt => i64::from(a < b),
                    BinaryOp::Eq => i64::from(a == b),
                    _ => panic!("an operator"),
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

impl Host for Numbers {
    fn pause(&mut self) -> Later<'_, ()> {
        self.pauses += 1;
        let over = self.pauses > self.most_pauses;
        let killed = SqlError::fixed(codes::ER_QUERY_INTERRUPTED);
        Box::pin(std::future::ready(if over { Err(killed) } else { Ok(()) }))
    }

    fn assigned<'a>(&'a mut self, _: Slot, n: u32, vars: &'a [Value]) -> Step<'a, Value> {
        let value = self.value(&self.program.exprs[n as usize].tree, vars);
        Step::Now(Ok(Value::Int(value)))
    }

    fn truth<'a>(&'a mut self, n: u32, vars: &'a [Value]) -> Step<'a, bool> {
        let value = self.value(&self.program.exprs[n as usize].tree, vars);
        Step::Now(Ok(value != 0))
    }

    fn run<'a>(&'a mut self, _: u32, _: &'a mut [Value]) -> Later<'a, ()> {
        let error = match self.errors.is_empty() {
            true => None,
            false => self.errors.remove(0),
        };
        let outcome = error.map_or(Ok(()), |code| Err(SqlError::new(code, "")));
        Box::pin(std::future::ready(outcome))
    }

    fn open<'a>(&'a mut self, n: u32, _: &'a [Value]) -> Later<'a, ()> {
        self.open.push(n);
        Box::pin(std::future::ready(Ok(())))
    }

    fn fetch(&mut self, _: u32, _: &[Slot], _: &mut [Value]) -> Result<(), SqlError> {
        Err(SqlError::fixed(codes::ER_SP_FETCH_NO_DATA))
    }

    fn close(&mut self, n: u32) {
        self.open.retain(|o| *o != n);
    }

    fn signal<'a>(&'a mut self, n: u32, _: &'a [Value]) -> Later<'a, ()> {
        let s = self.program.signals[n as usize].condition;
        let outcome = s.map_or(Ok(()), |s| {
            Err(SqlError::new(s.number(), "").with_state(s.state))
        });
        Box::pin(std::future::ready(outcome))
    }

    fn diagnose<'a>(&'a mut self, _: u32, _: &'a mut [Value]) -> Later<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn may_catch(&self, e: &SqlError) -> bool {
        e.code != codes::ER_QUERY_INTERRUPTED
    }

    fn failed(&mut self, _: &SqlError) {}

    fn take_raised(&mut self) -> Vec<Raised> {
        Vec::new()
    }

    fn enter_handler(&mut self, _: Raised) {
        self.entered += 1;
    }

    fn leave_handler(&mut self) {
        self.left += 1;
    }

    fn abandon_handlers(&mut self, n: usize) {
        self.left += n as u32;
    }
}

#[test]
fn an_endless_loop_hears_that_it_is_to_end() {
    for body in [
        "l: LOOP ITERATE l; END LOOP",
        "WHILE 1 DO SET n = n + 1; END WHILE",
        "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; REPEAT DO 1; UNTIL 0 END REPEAT; END",
    ] {
        let mut host = Numbers::of(body);
        assert_eq!(host.run(0), Err(codes::ER_QUERY_INTERRUPTED), "{body}");
        assert_eq!(host.pauses, host.most_pauses + 1);
    }
}

#[test]
fn every_handler_that_begins_ends() {
    let body = "BEGIN DECLARE a INT DEFAULT 0; DECLARE EXIT HANDLER FOR 1062 SET a = a + 100; \
        BEGIN DECLARE CONTINUE HANDLER FOR 1048 BEGIN SET a = a + 1; DO 1; SET a = a + 10; END; DO 1; DO 1; END; END";
    // The second statement is the inner handler's.
    for (errors, a) in [
        (vec![], 0),
        (vec![Some(1048)], 11),
        (vec![Some(1048), Some(1062)], 101),
        (vec![Some(1048), None, Some(1048), Some(1062)], 112),
        (vec![Some(1062)], 100),
    ] {
        let mut host = Numbers::of(body);
        host.errors.clone_from(&errors);
        assert_eq!(host.run(0), Ok(vec![0, a]), "{errors:?}");
        assert_eq!(host.entered, host.left, "{errors:?}");
    }
    let mut host = Numbers::of(body);
    host.errors = vec![Some(1048), Some(1048)];
    assert_eq!(host.run(0), Err(1048));
    assert_eq!((host.entered, host.left), (1, 1));
}

#[test]
fn cursors_are_closed_wherever_their_block_is_left() {
    for body in [
        "BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; END",
        "a: BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; LEAVE a; END",
        "a: LOOP BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; LEAVE a; END; END LOOP",
        "a: WHILE n < 5 DO SET n = n + 1; BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; ITERATE a; END; END WHILE",
        "BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT 1; DECLARE EXIT HANDLER FOR NOT FOUND BEGIN END; OPEN c; FETCH c INTO x; END",
    ] {
        assert!(Numbers::of(body).run(0).is_ok(), "{body}");
    }
    let fails = "BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT 1; OPEN c; FETCH c INTO x; END";
    assert_eq!(Numbers::of(fails).run(0), Err(1329));
}

#[test]
fn case_compares_its_value_once() {
    let body =
        "CASE n + 1 WHEN 1 THEN SET n = 10; WHEN 2 THEN SET n = 20; ELSE SET n = 30; END CASE";
    for (n, want) in [(0, 10), (1, 20), (7, 30)] {
        assert_eq!(Numbers::of(body).run(n).map(|v| v[0]), Ok(want));
    }
    let open = "CASE n WHEN 1 THEN SET n = 10; END CASE";
    assert_eq!(Numbers::of(open).run(2), Err(1339));
}

#[test]
fn the_most_exact_handler_of_the_innermost_block_is_found() {
    let p = compiled(
        "BEGIN DECLARE EXIT HANDLER FOR 1062 DO 1; \
         BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION DO 2; DECLARE EXIT HANDLER FOR SQLWARNING DO 3; DECLARE EXIT HANDLER FOR NOT FOUND DO 4; \
         DECLARE EXIT HANDLER FOR SQLSTATE '23000' DO 5; DO 6; END; END",
    );
    let p = p.expect("it compiles");
    let scope = p.code.last().map(|i| i.scope).expect("code");
    let of = |code: u16, state: &str, level| p.handler_for(scope, code, SqlState::of(state), level);
    assert_eq!(of(1062, "23000", Level::Error), Some(4));
    assert_eq!(of(1062, "HY000", Level::Error), Some(1));
    assert_eq!(of(1265, "01000", Level::Warning), Some(2));
    assert_eq!(of(1265, "HY000", Level::Warning), Some(2));
    assert_eq!(of(1051, "42S02", Level::Note), None);
    assert_eq!(of(1329, "02000", Level::Error), Some(3));
    let outer = p.handlers[0].scope;
    let there = p.handler_for(outer, 1146, SqlState::of("42S02"), Level::Error);
    assert_eq!(there, None);
}

#[test]
fn a_variable_stands_for_names_without_a_table_alone() {
    let p = compiled(
        "BEGIN DECLARE a INT; INSERT INTO t (a) VALUES (a); UPDATE t SET a = a WHERE t.a = n; END",
    );
    let p = p.expect("it compiles");
    let shown = |i: usize| format!("{:?}", p.statements[i].part.tree);
    assert_eq!(shown(0).matches("Param(1)").count(), 1);
    assert_eq!(shown(1).matches("Param(1)").count(), 1);
    assert_eq!(shown(1).matches("Param(0)").count(), 1);
}
