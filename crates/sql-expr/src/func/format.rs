//! Numbers and bytes formatted for people: FORMAT, FORMAT_BYTES, FORMAT_PICO_TIME.

use types::SqlError;
use types::error::codes;

use super::infer::ascii_or_null;
use super::{FuncDef, def, some};
use crate::conv;
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::ExprType;
use crate::val::{Num, Val};

type Out<'a> = Result<Val<'a>, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("format", 2, 3, infer_format, format).light(),
    def("format_bytes", 1, 1, ascii_or_null::<16>, format_bytes),
    def(
        "format_pico_time",
        1,
        1,
        ascii_or_null::<16>,
        format_pico_time,
    ),
];

fn infer_format(cx: &InferCx<'_>, args: &mut [Expr]) -> Result<ExprType, SqlError> {
    let digits = args[0].ty.chars();
    let separated = digits.saturating_add(digits / 3);
    Ok(cx.ascii(separated.saturating_add(31), true))
}

fn format(a: Args<'_>) -> Out<'_> {
    let n = some!(a.num(0)?);
    // What is no number by its type is a double.
    let n = match a.ty(0).is_number() {
        true => n,
        false => Num::Double(n.to_f64()),
    };
    let places = some!(a.i64(1)?).clamp(0, 30) as u8;
    let text = match n {
        Num::Double(d) => {
            let rounded = super::numeric::round_double(d, i64::from(places), false);
            let mut text = Vec::new();
            conv::write_double(rounded, places, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
        n => {
            let d = n.to_decimal();
            d.rescale(places).unwrap_or(d).to_string()
        }
    };
    let (thousands, point) = separators(&a)?;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(d) => ("-", d),
        None => ("", text.as_str()),
    };
    let (whole, frac) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::with_capacity(text.len() * 4 / 3 + 2);
    out.push_str(sign);
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push_str(thousands);
        }
        out.push(c);
    }
    if !frac.is_empty() {
        out.push_str(point);
        out.push_str(frac);
    }
    Ok(Val::owned(out.into_bytes()))
}

/// The locales that there are.
const LOCALES: &str = "ar_AE ar_BH ar_DZ ar_EG ar_IN ar_IQ ar_JO ar_KW ar_LB ar_LY ar_MA ar_OM ar_QA ar_SA ar_SD ar_SY ar_TN ar_YE
    be_BY bg_BG ca_ES cs_CZ da_DK de_AT de_BE de_CH de_DE de_LU el_GR en_AU en_CA en_GB en_IN en_NZ en_PH en_US en_ZA en_ZW
    es_AR es_BO es_CL es_CO es_CR es_DO es_EC es_ES es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_PY es_SV es_US es_UY es_VE
    et_EE eu_ES fi_FI fo_FO fr_BE fr_CA fr_CH fr_FR fr_LU gl_ES gu_IN he_IL hi_IN hr_HR hu_HU id_ID is_IS it_CH it_IT ja_JP
    ko_KR lt_LT lv_LV mk_MK mn_MN ms_MY nb_NO nl_BE nl_NL no_NO pl_PL pt_BR pt_PT rm_CH ro_RO ru_RU ru_UA sk_SK sl_SI sq_AL
    sr_RS sv_FI sv_SE ta_IN te_IN th_TH tr_TR uk_UA ur_PK vi_VN zh_CN zh_HK zh_TW";

/// Thousands separator and decimal point of the locale in the third argument.
fn separators(a: &Args<'_>) -> Result<(&'static str, &'static str), SqlError> {
    if a.len() < 3 {
        return Ok((",", "."));
    }
    let given = a.text(2)?;
    let known = given.as_ref().and_then(|l| {
        let mut known = LOCALES.split_ascii_whitespace();
        known.find(|k| k.as_bytes().eq_ignore_ascii_case(l))
    });
    let Some(locale) = known.map(str::as_bytes) else {
        let shown = given.map_or("NULL".into(), |l| conv::shown(&l).into_owned());
        a.cx.warn_error(SqlError::new(
            codes::ER_UNKNOWN_LOCALE,
            format!("Unknown locale: '{shown}'"),
        ));
        return Ok((",", "."));
    };
    let language = locale.split(|b| *b == b'_').next().unwrap_or_default();
    Ok(match (language, locale) {
        (_, b"de_CH") => ("'", "."),
        (b"de" | b"es" | b"id" | b"nl" | b"tr" | b"da" | b"is" | b"pt" | b"el" | b"it", _) => {
            (".", ",")
        }
        (
            b"fr" | b"cs" | b"sk" | b"fi" | b"sv" | b"nb" | b"no" | b"pl" | b"ru" | b"uk" | b"bg"
            | b"hu",
            _,
        ) => ("", ","),
        _ => (",", "."),
    })
}

fn scaled(v: f64, units: &[(&str, f64)], plain: &str) -> Val<'static> {
    let unit = units.iter().rev().find(|(_, f)| v.abs() >= *f);
    let text = match unit {
        Some((name, f)) => format!("{:.2} {name}", v / f),
        None => format!("{v:4.0} {plain}"),
    };
    Val::owned(text.into_bytes())
}

fn format_bytes(a: Args<'_>) -> Out<'_> {
    let v = some!(a.f64(0)?);
    const UNITS: [(&str, f64); 6] = [
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("TiB", 1_099_511_627_776.0),
        ("PiB", 1_125_899_906_842_624.0),
        ("EiB", 1_152_921_504_606_846_976.0),
    ];
    Ok(scaled(v, &UNITS, "bytes"))
}

fn format_pico_time(a: Args<'_>) -> Out<'_> {
    let v = some!(a.f64(0)?);
    const UNITS: [(&str, f64); 7] = [
        ("ns", 1e3),
        ("us", 1e6),
        ("ms", 1e9),
        ("s", 1e12),
        ("min", 6e13),
        ("h", 3.6e15),
        ("d", 8.64e16),
    ];
    Ok(scaled(v, &UNITS, "ps"))
}
