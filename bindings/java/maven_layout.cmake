# Adds to the sources what Maven needs beside them: pom.xml and src/main/resources. Run by a target of CMakeLists.txt, which
# sets OUTPUT, POM and CLASSES.
file(REMOVE_RECURSE ${OUTPUT}/src/main/resources)
file(COPY ${CLASSES}/org/halftone/natives DESTINATION ${OUTPUT}/src/main/resources/org/halftone)
file(COPY ${CLASSES}/META-INF DESTINATION ${OUTPUT}/src/main/resources)
file(COPY_FILE ${POM} ${OUTPUT}/pom.xml ONLY_IF_DIFFERENT)
