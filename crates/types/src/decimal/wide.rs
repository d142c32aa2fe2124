//! Fixed 512-bit unsigned integers: the slow path of DECIMAL, wide enough for a 65-digit dividend scaled up before division.
//!
//! Nothing here allocates. Long division is Knuth's Algorithm D (TAOCP volume 2, 4.3.1) on 64-bit limbs.

use std::cmp::Ordering;

/// Number of 64-bit limbs.
pub const LIMBS: usize = 8;

/// An unsigned integer, least significant limb first.
pub type Wide = [u64; LIMBS];

/// Zero.
pub const ZERO: Wide = [0; LIMBS];

/// Largest power of ten that fits a limb.
pub const TEN19: u64 = 10_000_000_000_000_000_000;

/// `10^0 ..= 10^38` as u128.
pub static POW10: [u128; 39] = {
    let mut t = [1u128; 39];
    let mut i = 1;
    while i < 39 {
        t[i] = t[i - 1] * 10;
        i += 1;
    }
    t
};

/// From 128 bits.
pub fn from_u128(v: u128) -> Wide {
    let mut w = ZERO;
    w[0] = v as u64;
    w[1] = (v >> 64) as u64;
    w
}

/// To 128 bits, if it fits.
pub fn to_u128(w: &Wide) -> Option<u128> {
    w[2..]
        .iter()
        .all(|&l| l == 0)
        .then(|| u128::from(w[0]) | u128::from(w[1]) << 64)
}

/// Whether the value is zero.
pub fn is_zero(w: &Wide) -> bool {
    w.iter().all(|&l| l == 0)
}

/// Compares two values.
pub fn cmp(a: &Wide, b: &Wide) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// `a + b`; the operands must stay below 2^511.
pub fn add(a: &Wide, b: &Wide) -> Wide {
    let mut r = ZERO;
    let mut carry = 0u128;
    for i in 0..LIMBS {
        let s = u128::from(a[i]) + u128::from(b[i]) + carry;
        r[i] = s as u64;
        carry = s >> 64;
    }
    r
}

/// `a - b` for `a >= b`.
pub fn sub(a: &Wide, b: &Wide) -> Wide {
    let mut r = ZERO;
    let mut borrow = false;
    for i in 0..LIMBS {
        let (d, b1) = a[i].overflowing_sub(b[i]);
        let (d, b2) = d.overflowing_sub(u64::from(borrow));
        r[i] = d;
        borrow = b1 || b2;
    }
    r
}

/// `a * b`, or `None` past 512 bits.
pub fn mul(a: &Wide, b: &Wide) -> Option<Wide> {
    let mut r = ZERO;
    for i in 0..LIMBS {
        if a[i] == 0 {
            continue;
        }
        let mut carry = 0u128;
        for j in 0..LIMBS {
            if i + j >= LIMBS {
                if b[j] != 0 || carry != 0 {
                    return None;
                }
                continue;
            }
            let t = u128::from(a[i]) * u128::from(b[j]) + u128::from(r[i + j]) + carry;
            r[i + j] = t as u64;
            carry = t >> 64;
        }
        if carry != 0 {
            return None;
        }
    }
    Some(r)
}

/// `w * m + add` in place; returns what overflowed 512 bits.
pub fn mul_small(w: &mut Wide, m: u64, add: u64) -> u64 {
    let mut carry = u128::from(add);
    for l in w.iter_mut() {
        let t = u128::from(*l) * u128::from(m) + carry;
        *l = t as u64;
        carry = t >> 64;
    }
    carry as u64
}

/// Divides in place by a limb; returns the remainder.
pub fn div_small(w: &mut Wide, d: u64) -> u64 {
    let mut rem = 0u128;
    for l in w.iter_mut().rev() {
        let cur = rem << 64 | u128::from(*l);
        *l = (cur / u128::from(d)) as u64;
        rem = cur % u128::from(d);
    }
    rem as u64
}

/// `w * 10^n`, or `None` past 512 bits.
pub fn mul_pow10(mut w: Wide, mut n: u32) -> Option<Wide> {
    while n > 0 {
        let step = n.min(19);
        if mul_small(&mut w, POW10[step as usize] as u64, 0) != 0 {
            return None;
        }
        n -= step;
    }
    Some(w)
}

/// `w / 10^n` toward zero, with how the rest compares to one half: `(quotient, rest is zero, rest >= half)`.
pub fn div_pow10(mut w: Wide, n: u32) -> (Wide, bool, bool) {
    if n == 0 {
        return (w, true, false);
    }
    let mut exact = true;
    let mut left = n - 1;
    while left > 0 {
        let step = left.min(19);
        exact &= div_small(&mut w, POW10[step as usize] as u64) == 0;
        left -= step;
    }
    let digit = div_small(&mut w, 10);
    (w, exact && digit == 0, digit >= 5)
}

/// Quotient and remainder; `b` must not be zero.
pub fn div_rem(a: &Wide, b: &Wide) -> (Wide, Wide) {
    if let (Some(x), Some(y)) = (to_u128(a), to_u128(b)) {
        return (from_u128(x / y), from_u128(x % y));
    }
    let n = LIMBS - b.iter().rev().take_while(|&&l| l == 0).count();
    if n <= 1 {
        let mut q = *a;
        let r = div_small(&mut q, b[0]);
        return (q, from_u128(u128::from(r)));
    }
    // Normalise so that the top limb of the divisor has its high bit set.
    let s = b[n - 1].leading_zeros();
    let v = shl(b, s);
    let mut u = [0u64; LIMBS + 1];
    u[..LIMBS].copy_from_slice(&shl(a, s));
    u[LIMBS] = if s == 0 { 0 } else { a[LIMBS - 1] >> (64 - s) };
    let mut q = ZERO;
    for j in (0..=LIMBS - n).rev() {
        let num = u128::from(u[j + n]) << 64 | u128::from(u[j + n - 1]);
        let mut qhat = num / u128::from(v[n - 1]);
        let mut rhat = num % u128::from(v[n - 1]);
        while qhat >> 64 != 0
            || qhat * u128::from(v[n - 2]) > (rhat << 64 | u128::from(u[j + n - 2]))
        {
            qhat -= 1;
            rhat += u128::from(v[n - 1]);
            if rhat >> 64 != 0 {
                break;
            }
        }
        let mut borrow = 0i128;
        let mut carry = 0u128;
        for i in 0..n {
            let p = qhat * u128::from(v[i]) + carry;
            carry = p >> 64;
            let t = i128::from(u[i + j]) - borrow - i128::from(p as u64);
            u[i + j] = t as u64;
            borrow = i128::from(t < 0);
        }
        let t = i128::from(u[j + n]) - borrow - carry as i128;
        u[j + n] = t as u64;
        if t < 0 {
            qhat -= 1;
            let mut c = 0u128;
            for i in 0..n {
                let x = u128::from(u[i + j]) + u128::from(v[i]) + c;
                u[i + j] = x as u64;
                c = x >> 64;
            }
            u[j + n] = u[j + n].wrapping_add(c as u64);
        }
        q[j] = qhat as u64;
    }
    let mut r = ZERO;
    for i in 0..n {
        r[i] = if s == 0 {
            u[i]
        } else {
            u[i] >> s | u[i + 1] << (64 - s)
        };
    }
    (q, r)
}

fn shl(w: &Wide, s: u32) -> Wide {
    if s == 0 {
        return *w;
    }
    let mut r = ZERO;
    let mut carry = 0;
    for i in 0..LIMBS {
        r[i] = w[i] << s | carry;
        carry = w[i] >> (64 - s);
    }
    r
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn division_inverts_multiplication(a in any::<[u64; 4]>(), b in any::<[u64; 3]>(), zeros in 0usize..3) {
            let mut x = ZERO;
            x[..4].copy_from_slice(&a);
            let mut y = ZERO;
            y[..3 - zeros].copy_from_slice(&b[..3 - zeros]);
            y[0] |= 1;
            let (q, r) = div_rem(&x, &y);
            prop_assert!(cmp(&r, &y) == Ordering::Less);
            prop_assert_eq!(add(&mul(&q, &y).unwrap(), &r), x);
        }
    }

    #[test]
    fn corrections_of_the_estimated_digit() {
        let mut a = ZERO;
        a[3] = 0x8000_0000_0000_0000;
        a[2] = 3;
        let mut b = ZERO;
        b[1] = 0x8000_0000_0000_0000;
        b[0] = u64::MAX;
        let (q, r) = div_rem(&a, &b);
        assert_eq!(add(&mul(&q, &b).unwrap(), &r), a);
    }
}
