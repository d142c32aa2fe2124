//! The types of columns as they are written: what makes them is shared with the columns of JSON_TABLE.

pub use sql_expr::column_type::{
    MAX_ROW_BYTES, TypeCtx, bytes_inside, collation, fits, resolve, row_bytes,
};
