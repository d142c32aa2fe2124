//! Figures as bytes of the catalog.
