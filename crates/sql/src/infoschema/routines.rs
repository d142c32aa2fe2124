//! ROUTINES and PARAMETERS.

use engine::ObjectDef;
use types::{DataType, Value};

use super::columns::{lengths, numeric};
use super::spec::{Spec, View, moment, name, text, text_or_null, uint};
use crate::context::routine_def::RoutineDef;
use crate::describe::compiled::compiled;
use crate::describe::routine::{sees, sees_body};
use crate::describe::view::security;
use sql_expr::vars::SqlMode;
use sql_parser::ast::ParamMode;

/// The routines that the session may see.
fn all<'a>(v: &'a View<'_>) -> impl Iterator<Item = (&'a ObjectDef, RoutineDef)> {
    let objects = v.schemas().into_iter().flat_map(|s| s.objects.values());
    objects.filter_map(|o| {
        // Whatever is no routine is not read as one.
        let routine = matches!(
            o.kind,
            engine::ObjectKind::Procedure | engine::ObjectKind::Function
        );
        let def = routine.then(|| RoutineDef::of(o).ok()).flatten()?;
        sees(v.security(), o, &def).then_some((&**o, def))
    })
}

/// From DATA_TYPE to COLLATION_NAME, and the type as it is written.
fn type_values(ty: Option<&DataType>) -> (Vec<Value>, Value) {
    let Some(ty) = ty else {
        let mut none = vec![text("")];
        none.extend(std::iter::repeat_n(Value::Null, 7));
        return (none, Value::Null);
    };
    let (chars, bytes) = lengths(ty);
    let (precision, scale) = numeric(ty);
    let character = ty.is_character() && !matches!(ty, DataType::Json);
    let temporal = matches!(
        ty,
        DataType::Time(_) | DataType::DateTime(_) | DataType::Timestamp(_)
    );
    let co = ty.collation();
    let row = vec![
        text(ty.base_name()),
        chars,
        bytes,
        precision,
        scale,
        if temporal {
            uint(u64::from(ty.fsp()))
        } else {
            Value::Null
        },
        text_or_null(character.then(|| co.charset().name())),
        text_or_null(character.then(|| co.name())),
    ];
    (row, text(&ty.to_string()))
}

fn routines(v: &View<'_>) -> Vec<Vec<Value>> {
    let one = |(o, def): (&ObjectDef, RoutineDef)| {
        let mut row = vec![
            name(&def.name),
            name("def"),
            name(&o.schema),
            name(&def.name),
            text(def.kind()),
        ];
        let (of_type, written) = type_values(None);
        row.extend(of_type);
        row.push(written);
        let body = sees_body(v.security(), &def).then_some(&*def.body);
        row.extend([
            text("SQL"),
            text_or_null(body),
            Value::Null,
            text("SQL"),
            text("SQL"),
            text(if def.deterministic { "YES" } else { "NO" }),
            text(&def.data_access),
            Value::Null,
            text(security(def.invoker)),
            moment(def.created_us, v.zone()),
            moment(def.altered_us, v.zone()),
            text(&SqlMode::from_bits(def.sql_mode).to_string()),
            text(&def.comment),
            text(&def.definer.plain()),
            text(&def.charset),
            text(&def.collation),
            text(&def.db_collation),
        ]);
        row
    };
    all(v).map(one).collect()
}

fn parameters(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for (o, def) in all(v) {
        let Ok(made) = compiled(&def) else { continue };
        for (i, p) in made.routine.params.iter().enumerate() {
            let mode = match p.mode {
                ParamMode::In => "IN",
                ParamMode::Out => "OUT",
                ParamMode::InOut => "INOUT",
            };
            let mut row = vec![
                name("def"),
                name(&o.schema),
                name(&def.name),
                uint(i as u64 + 1),
                text(mode),
                name(&p.name),
            ];
            let (of_type, written) = type_values(made.types[i].as_ref());
            row.extend(of_type);
            row.push(written);
            row.push(text(def.kind()));
            out.push(row);
        }
    }
    out
}

/// The tables of this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "ROUTINES",
        columns: "SPECIFIC_NAME v64, ROUTINE_CATALOG n64, ROUTINE_SCHEMA n64, ROUTINE_NAME v64, ROUTINE_TYPE v9, DATA_TYPE x?, \
         CHARACTER_MAXIMUM_LENGTH I?, CHARACTER_OCTET_LENGTH I?, NUMERIC_PRECISION u?, NUMERIC_SCALE u?, \
         DATETIME_PRECISION u?, CHARACTER_SET_NAME v64?, COLLATION_NAME v64?, DTD_IDENTIFIER x?, ROUTINE_BODY v8, \
         ROUTINE_DEFINITION x?, EXTERNAL_NAME v1?, EXTERNAL_LANGUAGE v64, PARAMETER_STYLE v3, IS_DETERMINISTIC v3, \
         SQL_DATA_ACCESS v17, SQL_PATH v1?, SECURITY_TYPE v7, CREATED t, LAST_ALTERED t, SQL_MODE v520, ROUTINE_COMMENT x, \
         DEFINER v288, CHARACTER_SET_CLIENT v64, COLLATION_CONNECTION v64, DATABASE_COLLATION v64",
        rows: routines,
    },
    Spec {
        name: "PARAMETERS",
        columns: "SPECIFIC_CATALOG n64, SPECIFIC_SCHEMA n64, SPECIFIC_NAME v64, ORDINAL_POSITION U, PARAMETER_MODE v5?, \
         PARAMETER_NAME v64?, DATA_TYPE x?, CHARACTER_MAXIMUM_LENGTH I?, CHARACTER_OCTET_LENGTH I?, NUMERIC_PRECISION u?, \
         NUMERIC_SCALE I?, DATETIME_PRECISION u?, CHARACTER_SET_NAME v64?, COLLATION_NAME v64?, DTD_IDENTIFIER x, \
         ROUTINE_TYPE v9",
        rows: parameters,
    },
];
