//! What sysbench tells of a run, second by second: what was done in each second, and how often each latency was seen.

/// What `--report-interval=1 --histogram=on` adds to sysbench's report.
#[derive(Debug, Default, PartialEq)]
pub struct TimeSeries {
    /// Queries in each second.
    pub seconds: Vec<f64>,
    /// Latencies in milliseconds, ascending, and how many transactions took that long.
    histogram: Vec<(f64, u64)>,
    /// The longest, milliseconds.
    pub max_ms: f64,
}

impl TimeSeries {
    /// Reads the report.
    pub fn parse(text: &str) -> TimeSeries {
        let mut time_series = TimeSeries::default();
        for line in text.lines() {
            // `[ 3s ] thds: 8 tps: 1.00 qps: 20.00 (r/w/o: 14.00/4.00/2.00) lat (ms,95%): 0.30 ...`
            if line.starts_with("[ ")
                && let Some((_, after)) = line.split_once(" qps: ")
                && let Some(qps) = after.split_whitespace().next().and_then(|w| w.parse().ok())
            {
                time_series.seconds.push(qps);
            } else if let Some((value, bar)) = line.split_once('|')
                && let Ok(value) = value.trim().parse()
                && let Some(count) = bar.split_whitespace().last().and_then(|w| w.parse().ok())
            {
                time_series.histogram.push((value, count));
            } else if let Some(max) = line.trim_start().strip_prefix("max:")
                && let Ok(max) = max.trim().parse()
            {
                time_series.max_ms = max;
            }
        }
        // In the first second the clients still prepare their statements.
        if time_series.seconds.len() > 2 {
            time_series.seconds.remove(0);
        }
        time_series
    }

    /// The latency below which `share` of the transactions stayed, milliseconds.
    pub fn percentile(&self, share: f64) -> f64 {
        let all: u64 = self.histogram.iter().map(|h| h.1).sum();
        let wanted = share * all as f64;
        let mut sum = 0;
        for (value, count) in &self.histogram {
            sum += count;
            if sum as f64 >= wanted {
                return *value;
            }
        }
        self.max_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "
[ 1s ] thds: 1 tps: 5.00 qps: 5.00 (r/w/o: 5.00/0.00/0.00) lat (ms,95%): 0.02 err/s: 0.00 reconn/s: 0.00
[ 2s ] thds: 1 tps: 90.00 qps: 90.50 (r/w/o: 90.00/0.00/0.00) lat (ms,95%): 0.02 err/s: 0.00 reconn/s: 0.00
[ 3s ] thds: 1 tps: 80.00 qps: 80.00 (r/w/o: 80.00/0.00/0.00) lat (ms,95%): 0.02 err/s: 0.00 reconn/s: 0.00
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.100 |*****                                    50
       0.200 |****                                     45
       9.000 |*                                        5

Latency (ms):
         min:                                    0.02
         max:                                   84.94
";

    #[test]
    fn the_course_is_read() {
        let time_series = TimeSeries::parse(REPORT);
        assert_eq!(time_series.seconds, [90.5, 80.0]);
        assert_eq!(time_series.percentile(0.5), 0.1);
        assert_eq!(time_series.percentile(0.95), 0.2);
        assert_eq!(time_series.percentile(0.99), 9.0);
        assert_eq!(time_series.max_ms, 84.94);
    }
}
